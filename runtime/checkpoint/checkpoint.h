/* checkpoint.h -- the state of a run in a folder: a part of every rank that has something to write,
 * and a manifest. runtime/manifest/manifest.h and runtime/parts/parts.h have the format,
 * runtime/state/rows.h says who writes what; docs/checkpoints.md describes all of it.
 *
 *   step_00000300.2.new/   being written, by the second start of the run
 *   step_00000300/         whole: parts, manifest, folder and name are on the disk
 *   step_00000300.old/     being removed
 *
 * Files are read, never mapped: a disk that fails is an error, not a signal. */
#ifndef LOCKSTEP_CHECKPOINT_H
#define LOCKSTEP_CHECKPOINT_H

#include <stdatomic.h>

#include "runtime/comm/comm.h"
#include "runtime/device/device.h"
#include "runtime/manifest/compare.h"
#include "runtime/parts/parts.h"
#include "runtime/plan/mesh.h"
#include "runtime/plan/plan_job.h"

enum {
  CHECKPOINT_KEEP_MAX = 1024,
  CHECKPOINT_EARLIER_KEEP = 3, /* folders earlier.N, the newest */
  CHECKPOINT_PATH_BYTES = 4096
};

/* The steps that have checkpoints, ascending, and the number of this start of the run. */
typedef struct CheckpointSteps {
  int64_t generation;
  int32_t count;
  int64_t at[CHECKPOINT_KEEP_MAX];
} CheckpointSteps;

/* The training data, and the files that parameters began with. */
typedef struct CheckpointData {
  uint64_t sum;          /* samples_identity */
  uint64_t weights_sum;  /* weights/sums.h; 0: none */
  int64_t epoch_samples; /* 0: unknown */
} CheckpointData;

/* Where a rank writes its parts. Saving happens between steps and allocates nothing: all room is
 * made when the store is opened. */
typedef struct CheckpointStore {
  const Plan *plan;
  const PlanClass *class;
  int32_t rank, number; /* number: of the part, so that files do not depend on where ranks are */
  const char *directory;
  int32_t keep;
  int64_t milestone;     /* steps: what is saved at multiples stays for ever; 0: none */
  CheckpointSteps steps; /* without milestones: checkpoints that may be removed */
  CheckpointData data;
  State state;
  PartLayout layout;
  char *header;   /* of the part; NULL: the rank writes none */
  uint64_t *sums; /* sums of its blocks, and the sum of these */
  uint8_t *block; /* the one being filled */
  bool is_memory; /* in a node's memory (memory.h), where no other start of the run writes */
  /* of a rank that writes manifests */
  ManifestText text;
  ManifestPart *part;
  int32_t part_count;
  char **source; /* names of the Lua files that the plan was compiled of */
  int32_t source_count;
  atomic_bool gives_up; /* the part that is being written is not needed any more */
  /* The last failure was not the disk's, and no later save can succeed: another start has taken
   * over, or the device has failed. */
  bool is_lost;
} CheckpointStore;

typedef struct CheckpointAside {
  int32_t count;                    /* checkpoints moved */
  int32_t removed;                  /* older folders earlier.N, beyond CHECKPOINT_EARLIER_KEEP */
  char path[CHECKPOINT_PATH_BYTES]; /* where to */
} CheckpointAside;

/* Moves the checkpoints of step `first_step` and later, which this run will write anew, into a new
 * folder earlier.N. What a save that was interrupted has left is removed. Nobody else may write in
 * the directory. */
bool checkpoint_set_aside(const char *directory, int64_t first_step, CheckpointAside *aside,
                          Status *status);

/* Called on every rank. `names`: the rank writes manifests, too. */
bool checkpoint_store_open(CheckpointStore *store, const Plan *plan, const Mesh *mesh, int32_t rank,
                           bool names, CheckpointData data, Status *status);
/* On rank 0: makes the directory, lists it into `steps` and writes that a new start owns it; the
 * other ranks then copy `steps`. */
bool checkpoint_store_list(CheckpointStore *store, Status *status);
void checkpoint_store_close(CheckpointStore *store);

/* A copy of state in memory that the host reads. */
typedef struct CheckpointCopy {
  const uint8_t *from, *to;
  uint64_t size_bytes;
} CheckpointCopy;

/* The state to save, and where it is. */
typedef struct CheckpointState {
  Device *device;
  uint8_t *const *arena; /* by tier */
  int64_t step;
  int64_t samples;
  Control lasting;
  const CheckpointCopy *copy; /* by address; read in place of the state. NULL: there are none */
  int32_t copy_count;
} CheckpointState;

/* A save, in this order, with a barrier between: rank 0 makes the folder; every rank writes its
 * part, synced; rank 0 writes the manifest, and gives the folder its name. */
bool checkpoint_begin(const CheckpointStore *store, int64_t step, Status *status);
bool checkpoint_write(CheckpointStore *store, const CheckpointState *state, Status *status);
/* `record`: a file that is kept with it if it exists, the run's job.json. */
bool checkpoint_publish(CheckpointStore *store, const CheckpointState *state, const char *record,
                        Status *status);

/* The end of checkpoint_publish, when `part` has the sizes and sums: the manifest, and the name. */
bool checkpoint_name(CheckpointStore *store, const CheckpointState *state, Status *status);

/* Drops the pages of this rank's part that the system caches, so that the disk is read next.
 * Returns the bytes that it keeps nevertheless, as of a file in memory; `bytes`: of the part. */
int64_t checkpoint_drop_cache(const CheckpointStore *store, int64_t step, int64_t *bytes);

/* True if the checkpoint of this step stays for ever. */
bool checkpoint_is_milestone(const CheckpointStore *store, int64_t step);

/* On rank 0, after `step` has its name: removes the oldest checkpoints beyond `keep`, but no
 * milestone. */
void checkpoint_remove_oldest(CheckpointStore *store, int64_t step);

/* The kinds of failure of a file. */
typedef enum CheckpointFault {
  CHECKPOINT_WHOLE,   /* nothing */
  CHECKPOINT_UNREAD,  /* it could not be read, so its contents are unknown; STATUS_WORLD */
  CHECKPOINT_ABSENT,  /* this path has no checkpoint */
  CHECKPOINT_FOREIGN, /* of another format */
  CHECKPOINT_DAMAGED  /* its contents are not those that were written: an older checkpoint may be
                         used */
} CheckpointFault;

void checkpoint_close(Checkpoint *checkpoint);

/* Opens for reading, and reads. False: `fault` and `status` say why. Short files are damaged. */
bool checkpoint_open_file(const char *path, int *descriptor, uint64_t *file_bytes,
                          CheckpointFault *fault, Status *status);
bool checkpoint_read(int descriptor, const char *path, void *bytes, size_t count, uint64_t offset,
                     CheckpointFault *fault, Status *status);

/* The step of a folder named step_N, or -1; with `rest` also of names that continue after it. */
int64_t checkpoint_step_of(const char *name, const char **rest);

/* True if the folder has a whole manifest and all its parts with their sizes. */
bool checkpoint_is_whole(const char *path);

/* DIRECTORY/step_N; DIRECTORY/step_N.GENERATION.new. */
void checkpoint_path(char path[CHECKPOINT_PATH_BYTES], const char *directory, int64_t step);
void checkpoint_new_path(char path[CHECKPOINT_PATH_BYTES], const CheckpointStore *store,
                         int64_t step);

/* Removes a folder, the files in it, and its folders of files. False: errno says why. */
bool checkpoint_remove_folder(const char *path);

/* The tensor of a class with this name and kind that has the layer; NULL: none. */
const PlanTensor *checkpoint_tensor(const Plan *plan, const PlanClass *class, uint32_t name,
                                    BufferKind kind, int32_t layer);

#endif
