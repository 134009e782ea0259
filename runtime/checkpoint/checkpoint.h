/* checkpoint.h -- the state of a run in one file: every persistent tensor, the step and the data
 * position.
 *
 *   [CheckpointHeader][CheckpointEntry x entry_count][names][tensors, each aligned to 64 bytes]
 *
 * Numbers are little-endian. An entry is one layer of one tensor. header_sum covers entries and
 * names, each entry has the checksum of its bytes. A file is written beside its name, synced and
 * renamed: a name means a whole file. */
#ifndef LOCKSTEP_CHECKPOINT_H
#define LOCKSTEP_CHECKPOINT_H

#include "runtime/plan/plan.h"
#include "runtime/status.h"

#define CHECKPOINT_MAGIC "LSTEPCKP"
enum { CHECKPOINT_VERSION = 1, CHECKPOINT_KEEP_MAX = 1024, CHECKPOINT_PATH_BYTES = 4096 };

typedef struct CheckpointHeader {
  char magic[8];
  uint32_t version;
  uint32_t entry_count;
  uint64_t names_bytes;
  uint64_t file_bytes;
  uint64_t plan_id;
  uint64_t seed;
  int64_t step;        /* the last one done */
  int64_t samples;     /* consumed so far */
  uint64_t table_sum;  /* of entries and names */
  uint64_t header_sum; /* of the fields above */
} CheckpointHeader;

typedef struct CheckpointEntry {
  uint64_t offset; /* in the file */
  uint64_t size_bytes;
  uint64_t sum;
  int64_t elements;
  uint32_t name; /* offset in names */
  uint32_t kind;
  uint32_t dtype;
  int32_t layer; /* -1: not of a stack */
} CheckpointEntry;

/* Where a run keeps its checkpoints; what is there is listed once, so that saving allocates
 * nothing. */
typedef struct CheckpointStore {
  const Plan *plan;
  const PlanClass *class;
  const char *directory;
  int32_t keep;
  int32_t count;
  int64_t step[CHECKPOINT_KEEP_MAX]; /* ascending */
  uint8_t *table;                    /* room for entries and names */
  uint64_t table_bytes;
  uint32_t entry_count;
} CheckpointStore;

typedef struct CheckpointAside {
  int32_t count;                    /* files moved */
  char path[CHECKPOINT_PATH_BYTES]; /* where to */
} CheckpointAside;

/* Moves the checkpoints of step `first_step` and later, which this run will write anew, into a new
 * folder earlier.N. */
bool checkpoint_set_aside(const char *directory, int64_t first_step, CheckpointAside *aside,
                          Status *status);

/* Makes the directory. */
bool checkpoint_store_open(CheckpointStore *store, const Plan *plan, const PlanClass *class,
                           Status *status);
void checkpoint_store_close(CheckpointStore *store);

/* Writes step_XXXXXXXX.ckpt and removes the oldest beyond `keep`. */
bool checkpoint_save(CheckpointStore *store, const uint8_t *arena, int64_t step, int64_t samples,
                     Status *status);

/* A checkpoint that was read and is whole. */
typedef struct Checkpoint {
  char path[CHECKPOINT_PATH_BYTES];
  const CheckpointHeader *header;
  const CheckpointEntry *entry;
  const char *names;
  void *mapped;
  size_t mapped_bytes;
} Checkpoint;

/* Maps the file; checks header and every checksum. */
bool checkpoint_open(Checkpoint *checkpoint, const char *path, Status *status);
void checkpoint_close(Checkpoint *checkpoint);

/* Opens the newest whole checkpoint of the directory. `skipped` is called with a line about each
 * newer one that is not. False with status code 0: there is none. */
bool checkpoint_open_newest(Checkpoint *checkpoint, const char *directory,
                            void skipped(const char *why), Status *status);

/* Whether it holds exactly the persistent tensors of this class, for this seed; else says what
 * differs. */
bool checkpoint_match(const Checkpoint *checkpoint, const Plan *plan, const PlanClass *class,
                      Status *status);

void checkpoint_restore(const Checkpoint *checkpoint, uint8_t *arena, const Plan *plan,
                        const PlanClass *class);

/* The step of a file named step_N.ckpt, or -1. */
int64_t checkpoint_step_of(const char *file_name);

/* Persistent tensors in the order of entries: calls `visit` for each layer of each. False when a
 * visit is false. */
typedef bool CheckpointVisit(void *context, const PlanTensor *tensor, int32_t layer,
                             uint64_t arena_offset);
bool checkpoint_each(const Plan *plan, const PlanClass *class, CheckpointVisit *visit,
                     void *context);

#endif
