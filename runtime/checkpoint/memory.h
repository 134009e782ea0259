/* memory.h -- checkpoints in the memory of nodes: what outlives a rank that is killed.
 *
 *   /dev/shm/lockstep-UID-HASH/     of a folder of checkpoints, on each node
 *     step_00000040/                whole: the parts of the ranks here, and the manifest
 *     step_00000060.2.new/          being written
 *
 * They have the format of those on disk. The older one is removed when the parts of the newer one
 * are whole on all nodes, so there are two at most. */
#ifndef LOCKSTEP_CHECKPOINT_MEMORY_H
#define LOCKSTEP_CHECKPOINT_MEMORY_H

#include "runtime/checkpoint/checkpoint.h"

/* The folder of this node for checkpoints of `directory`. */
void memory_path(char path[CHECKPOINT_PATH_BYTES], const char *directory);

/* Ranks of one node have the same number. */
uint64_t memory_node(void);

/* Makes the folder, for this user alone. False: it cannot be made, or is somebody else's. */
bool memory_make(const char *path, Status *status);
/* True if the path exists and belongs to this user. */
bool memory_is_there(const char *path);
/* Removes all of it. */
void memory_clear(const char *path);
/* Free bytes of the file system; -1: unknown. */
int64_t memory_free_bytes(const char *path);

/* Copies to look for: of this start of the run, below this step. An earlier start may have left
 * copies on a node that later starts did not get. */
typedef struct MemoryWanted {
  int64_t generation, below;
} MemoryWanted;

/* The newest whole manifest there: its step, or -1, and its text, which the caller frees. */
int64_t memory_newest(const char *path, const MemoryWanted *wanted, char **text,
                      uint64_t *text_bytes);

/* Counts the parts of a checkpoint that a node has copied to a folder on disk. */
typedef struct MemoryGiven {
  int32_t parts;
  int32_t failed; /* 1: one could not be written, as `status` says */
} MemoryGiven;

/* Copies the parts that this node has of the manifest's step into `folder`, synced. A part counts
 * if it has the size and the last sum that the manifest says. */
MemoryGiven memory_give(const char *path, const Manifest *manifest, const char *folder,
                        Status *status);

/* The end of a part, as all ranks learn it. */
typedef struct MemoryEnd {
  int64_t bytes; /* 0: the rank has no part */
  uint64_t sum;
} MemoryEnd;

/* Writes the manifest and gives the name, on this node. `end`: by number of the part. The copy
 * before stays, until all nodes have given the name: checkpoint_remove_oldest. */
bool memory_publish(CheckpointStore *store, const CheckpointState *state, const MemoryEnd *end,
                    Status *status);

#endif
