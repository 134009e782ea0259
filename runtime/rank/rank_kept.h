/* rank_kept.h -- checkpoints in the memory of nodes, checkpoint.memory = "20 steps": from them a
 * run continues whose ranks were killed, on the same nodes. Part of rank_state.h. */
#ifndef LOCKSTEP_RANK_KEPT_H
#define LOCKSTEP_RANK_KEPT_H

#include "runtime/checkpoint/memory.h"

typedef struct Rank Rank;

/* A rank's word about a save, and the end of its part. */
typedef struct KeptWord {
  int32_t has_failed;
  MemoryEnd end;
} KeptWord;

typedef struct RankKept {
  int64_t every; /* steps; 0: nothing is kept in memory */
  bool leads;    /* the first rank of its node, which writes the manifest there */
  char path[CHECKPOINT_PATH_BYTES];
  CheckpointStore store;
  KeptWord *told; /* by rank */
  MemoryEnd *end; /* by number of the part */
  int64_t failed;
} RankKept;

/* Before a checkpoint is looked for: the newest step that all nodes together have in memory becomes
 * a checkpoint, if it is newer than those on disk. */
bool rank_kept_drain(Rank *rank, Status *status);
/* After the store is open: removes older copies from memory. If a node has no room for two copies,
 * a note says so, and the run keeps none. */
bool rank_kept_open(Rank *rank, Status *status);
/* `is_done`: the run has ended well, or had before, so its state is on disk. */
void rank_kept_close(Rank *rank, bool is_done);
bool rank_keeps_after(const Rank *rank, int64_t step);
/* All ranks write their parts into memory, and wait for each other. A failure does not end the run.
 * False: another rank has failed. */
bool rank_keep(Rank *rank, int64_t step, Status *status);

#endif
