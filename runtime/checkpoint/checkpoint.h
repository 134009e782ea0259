/* checkpoint.h -- the state of a run in one file: every persistent tensor, the step and the data
 * position.
 *
 *   [CheckpointHeader][CheckpointPart, if it has one][CheckpointEntry x entry_count]
 *   [CheckpointSetting x setting_count][text][tensors, each aligned to 64 bytes]
 *
 * When ranks have different parts of the state (job_state_axes), each rank with coordinate 0
 * along all other axes writes one: rank 0 step_N.ckpt, rank r step_N.ckpt.rRRRRR, each with a
 * CheckpointPart. Rank 0's is renamed last: if it exists, all parts exist.
 *
 * Numbers are little-endian. An entry is one layer of one tensor; the settings are those of the
 * plan that wrote the file. table_sum covers the bytes between header and tensors, each entry has
 * the checksum of its bytes. A file is written beside its name, synced and renamed: a name means a
 * whole file. Files are read, never mapped: a disk that fails is an error, not a signal. */
#ifndef LOCKSTEP_CHECKPOINT_H
#define LOCKSTEP_CHECKPOINT_H

#include "runtime/comm/comm.h"
#include "runtime/device/device.h"
#include "runtime/plan/control.h"
#include "runtime/plan/mesh.h"
#include "runtime/plan/plan_job.h"
#include "runtime/process/status.h"

#define CHECKPOINT_MAGIC "LSTEPCKP"
enum {
  CHECKPOINT_VERSION = 5,
  CHECKPOINT_KEEP_MAX = 1024,
  CHECKPOINT_EARLIER_KEEP = 3, /* folders earlier.N, the newest */
  CHECKPOINT_PATH_BYTES = 4096,
  CHECKPOINT_TABLE_BYTES_MAX = 64 << 20, /* no model has a larger table */
  CHECKPOINT_AXIS_NAME_BYTES = 16
};

typedef struct CheckpointHeader {
  char magic[8];
  uint32_t version;
  uint32_t entry_count;
  uint32_t setting_count;
  uint32_t part_count; /* 0 or 1 */
  uint64_t text_bytes;
  uint64_t file_bytes;
  uint64_t plan_id;
  uint64_t data_sum;     /* samples_identity of the training data */
  int64_t step;          /* the last one done */
  int64_t last_step;     /* of the job that wrote it */
  int64_t samples;       /* consumed so far */
  uint64_t lasting_mask; /* CONTROL_BITs of the slots of `lasting` that the plan had */
  Control lasting;
  double lr;           /* of `step` */
  uint64_t table_sum;  /* of everything between header and tensors */
  uint64_t header_sum; /* of the fields above */
} CheckpointHeader;

typedef struct CheckpointEntry {
  uint64_t offset; /* in the file */
  uint64_t size_bytes;
  uint64_t sum;
  int64_t elements;
  uint32_t name; /* offset in the text */
  uint32_t kind;
  uint32_t dtype;
  int32_t layer; /* -1: not of a stack */
} CheckpointEntry;

/* A PlanSetting; offsets in the text. */
typedef struct CheckpointSetting {
  uint32_t effect;
  uint32_t key;
  uint32_t value;
  uint32_t origin;
} CheckpointSetting;

/* Which rank's part of the state a file has: the mesh that it was written on, and the mesh_number.
 */
typedef struct CheckpointPart {
  uint32_t axis_count;
  uint32_t state_axes;
  int32_t rank;
  uint32_t size[MESH_AXES_MAX];
  uint32_t pad;
  char name[MESH_AXES_MAX][CHECKPOINT_AXIS_NAME_BYTES]; /* truncated, with a NUL */
} CheckpointPart;

/* The mesh_number of the rank that writes this rank's part: its own, if its coordinates are 0 along
 * all axes except `state_axes`. */
int32_t checkpoint_writer(const Mesh *mesh, uint32_t state_axes, int32_t rank);

/* Steps of which there are checkpoints, ascending. */
typedef struct CheckpointSteps {
  int32_t count;
  int64_t at[CHECKPOINT_KEEP_MAX];
} CheckpointSteps;

/* Where a writing rank keeps its files; existing files are listed once, so that saving allocates
 * nothing. */
typedef struct CheckpointStore {
  const Plan *plan;
  const PlanClass *class;
  int32_t number; /* of the part: mesh_number, so that files do not depend on where ranks are */
  bool in_parts;
  const char *directory;
  int32_t keep;
  CheckpointSteps steps;
  uint8_t *table; /* room for part, entries, settings and text */
  uint64_t table_bytes;
  uint64_t text_bytes;
  uint64_t data_sum;
  uint32_t entry_count, setting_count;
} CheckpointStore;

typedef struct CheckpointAside {
  int32_t count;                    /* checkpoints moved, of one or more files each */
  int32_t removed;                  /* older folders earlier.N, beyond CHECKPOINT_EARLIER_KEEP */
  char path[CHECKPOINT_PATH_BYTES]; /* where to */
} CheckpointAside;

/* Moves the checkpoints of step `first_step` and later, which this run will write anew, into a new
 * folder earlier.N. What a save that was interrupted has left is removed. Nobody else may write in
 * the directory. */
bool checkpoint_set_aside(const char *directory, int64_t first_step, CheckpointAside *aside,
                          Status *status);

/* For a rank that writes. `data_sum` names the training data. */
bool checkpoint_store_open(CheckpointStore *store, const Plan *plan, const Mesh *mesh, int32_t rank,
                           uint64_t data_sum, Status *status);
/* On rank 0: makes the directory and lists it into `steps`, which the other ranks then copy. */
bool checkpoint_store_list(CheckpointStore *store, Status *status);
void checkpoint_store_close(CheckpointStore *store);

/* The state to save, and where it is. */
typedef struct CheckpointState {
  Device *device;
  uint8_t *const *arena; /* by tier */
  int64_t step;
  int64_t samples;
  Control lasting;
  uint32_t lasting_mask; /* CONTROL_BITs of its slots */
} CheckpointState;

/* Writes the rank's file: under its own name, except rank 0's under a temporary one. */
bool checkpoint_write(CheckpointStore *store, const CheckpointState *state, Status *status);

/* On rank 0, when all have written: gives its file its final name. */
bool checkpoint_publish(const CheckpointStore *store, int64_t step, Status *status);

/* After `step` has its name: removes this rank's files of the oldest checkpoints beyond `keep`.
 * Rank 0 goes first, because parts without its file are not a checkpoint. */
void checkpoint_remove_oldest(CheckpointStore *store, int64_t step);

/* A rank's view of a checkpoint: header and table of the file with its part of the state. The first
 * of the ranks with the same part has opened it, and reads for all of them. */
typedef struct Checkpoint {
  char *path;
  bool is_reader;
  int descriptor; /* of the reader: the file is opened once */
  void *block;    /* holds what the rest points to */
  uint64_t block_bytes;
  const CheckpointHeader *header;
  const CheckpointPart *part; /* NULL: the file has all of the state */
  const CheckpointEntry *entry;
  const CheckpointSetting *setting;
  const char *text;
} Checkpoint;

/* The kinds of failure of a file. */
typedef enum CheckpointFault {
  CHECKPOINT_WHOLE,   /* nothing */
  CHECKPOINT_UNREAD,  /* it could not be read, so its contents are unknown; STATUS_WORLD */
  CHECKPOINT_ABSENT,  /* there is none at this path */
  CHECKPOINT_FOREIGN, /* of another format */
  CHECKPOINT_DAMAGED  /* it was read and is not what was written: an older one may be used */
} CheckpointFault;

/* Opens a file as its reader, and reads header and table. A header is trusted only as far as the
 * length of the file agrees. False: `fault` is the kind of failure that `status` describes. */
bool checkpoint_open(Checkpoint *checkpoint, const char *path, CheckpointFault *fault,
                     Status *status);
/* Makes a view from the block that another rank has read. False: out of memory. */
bool checkpoint_receive(Checkpoint *checkpoint, const char *path, uint64_t block_bytes,
                        Status *status);
/* Sets the pointers into the block. */
void checkpoint_view(Checkpoint *checkpoint);
/* On the reader: reads the tensors and compares their checksums. */
bool checkpoint_sums(const Checkpoint *checkpoint, CheckpointFault *fault, Status *status);
void checkpoint_close(Checkpoint *checkpoint);

/* True if a part was written on the same mesh; another mesh would cut tensors differently. `part`
 * NULL: whole state. */
bool checkpoint_same_mesh(const CheckpointPart *part, const Plan *plan);

/* A key whose value is not what the checkpoint was made with. */
typedef struct CheckpointChange {
  const char *key;
  const char *before; /* "none": the checkpoint's job did not have the key */
  const char *after;
  uint32_t effect; /* SettingEffect */
  bool is_derived; /* in both jobs it follows from other keys */
} CheckpointChange;

typedef struct CheckpointChanges {
  char (*number)[SETTING_NUMBER_BYTES]; /* texts of the plan's settings that are numbers */
  CheckpointChange *at;
  int32_t count;
} CheckpointChanges;

/* The differences between the job that wrote a checkpoint and the plan's, in the plan's order.
 * Models and data are compared by content, not by name. False: out of memory. */
bool checkpoint_changes(const Checkpoint *checkpoint, const Plan *plan, uint64_t data_sum,
                        CheckpointChanges *changes, Status *status);
void checkpoint_changes_free(CheckpointChanges *changes);

/* The value of a key of the job that wrote the checkpoint; NULL: it had none. */
const char *checkpoint_setting(const Checkpoint *checkpoint, const char *key);

/* "optimizer.lr 0.001 -> 0.005, train.seed 1 -> 2" of the changes with one of `effects` (bits),
 * derived ones only if asked; and how many they are. */
int32_t checkpoint_changes_text(const CheckpointChanges *changes, uint32_t effects, bool derived,
                                char *text, size_t text_bytes);

/* True if a rank's file holds exactly the persistent tensors of its class, for this mesh if it is
 * in parts; otherwise reports what differs, by the user's keys if `changes` explain it. */
bool checkpoint_match(const Checkpoint *own, const Plan *plan, const PlanClass *class,
                      const CheckpointChanges *changes, Status *status);

/* Reports that the tensor is damaged (NULL: one without a name); returns false. */
bool checkpoint_damaged(const char *path, const char *tensor, CheckpointFault *fault,
                        Status *status);

/* Reads from a file. False: `fault` and `status` say why. Short files are damaged. */
bool checkpoint_read(int descriptor, const char *path, void *bytes, size_t count, uint64_t offset,
                     CheckpointFault *fault, Status *status);

/* The step of a file named step_N.ckpt, or -1; with `rest` also of names that go on after it. */
int64_t checkpoint_step_of(const char *file_name, const char **rest);

/* step_N.ckpt, or for other ranks step_N.ckpt.rRRRRR. */
void checkpoint_path(char path[CHECKPOINT_PATH_BYTES], const char *directory, int64_t step,
                     int32_t rank);

/* Persistent tensors in the order of entries: calls `visit` for each layer of each. False when a
 * visit is false. */
typedef bool CheckpointVisit(void *context, const PlanTensor *tensor, int32_t layer,
                             uint64_t arena_offset);
bool checkpoint_each(const Plan *plan, const PlanClass *class, CheckpointVisit *visit,
                     void *context);

#endif
