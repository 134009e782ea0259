/* compare.h -- a checkpoint against a job that would continue from it: the keys that differ, and
 * whether it has the job's state. */
#ifndef LOCKSTEP_MANIFEST_COMPARE_H
#define LOCKSTEP_MANIFEST_COMPARE_H

#include "runtime/manifest/manifest.h"
#include "runtime/plan/plan_job.h"

/* A checkpoint and its manifest. It must not be moved. */
typedef struct Checkpoint {
  char *path; /* of the folder; NULL: there is none */
  Manifest manifest;
} Checkpoint;

/* A key whose value is not what the checkpoint was made with. */
typedef struct CheckpointChange {
  const char *key;
  const char *before; /* "none": the checkpoint's job did not have the key */
  const char *after;
  uint32_t effect; /* SettingEffect */
  bool is_derived; /* the value is derived from other keys in both jobs */
} CheckpointChange;

typedef struct CheckpointChanges {
  char (*number)[SETTING_NUMBER_BYTES]; /* texts of the plan's settings that are numbers */
  CheckpointChange *at;
  int32_t count;
} CheckpointChanges;

/* The value of a key of the job that wrote the checkpoint; NULL: it had none. */
const char *checkpoint_setting(const Checkpoint *checkpoint, const char *key);

/* The differences between the job that wrote a checkpoint and the plan's, in the plan's order.
 * Models and data are compared by content, not by name. False: out of memory. */
bool checkpoint_changes(const Checkpoint *checkpoint, const Plan *plan, uint64_t data_sum,
                        CheckpointChanges *changes, Status *status);
/* Adds that the files which parameters began with have another content. Sums of 0 are unknown. */
void checkpoint_compare_weights(const Checkpoint *checkpoint, const Plan *plan, uint64_t sum,
                                CheckpointChanges *changes);
void checkpoint_changes_free(CheckpointChanges *changes);

/* "optimizer.lr 0.001 -> 0.005, train.seed 1 -> 2" of the changes with one of `effects` (bits),
 * derived ones only if asked; and how many they are. */
int32_t checkpoint_changes_text(const CheckpointChanges *changes, uint32_t effects, bool derived,
                                char *text, size_t text_bytes);

/* True if the checkpoint has every element of the plan's state and no other: otherwise reports what
 * differs, by the user's keys if `changes` explain it. */
bool checkpoint_match(const Checkpoint *checkpoint, const Plan *plan,
                      const CheckpointChanges *changes, Status *status);

/* The item of a checkpoint that a tensor's layer is made of: of its own kind; or a weight of its
 * master, and a master of the weight. item_count: there is none. */
uint32_t checkpoint_source(const State *from, const char *name, const PlanTensor *tensor);

/* False for moments in codes, and for their maxima, if their blocks are of other elements than
 * those of the plan's tensor: because the tensor is cut otherwise, or padded. */
bool checkpoint_same_blocks(const State *from, const char *name, const Plan *plan,
                            const PlanTensor *tensor);

#endif
