/* manifest.h -- the file that makes a folder a checkpoint: what was saved, and where it lies.
 *
 *   checkpoint.path/step_00000300/part-00005.safetensors   of each rank that writes (parts.h)
 *                                 manifest.json            written when all parts are on the disk
 *                                 job.json                 the record of the run
 *                                 source/                  Lua files that the plan was compiled of
 *
 * A manifest repeats the tables of the plan that say where elements are (rows.h), so it grows with
 * tensors and classes and not with ranks, and a reader of other degrees finds the parts that it
 * needs by arithmetic:
 *
 *   {"format": "lockstep", "version": 5, "program", "plan": 16 hex digits, "step", "save": 16 hex
 *    digits, "generation", "samples", "lr", "control": {"updates": 300, ...}, "last_step",
 *    "sample_tokens", "epoch_samples", "data": 16 hex digits, "part_bytes",
 *    "axes": [["dp", 2], ...],
 *    "layouts": [{"flat_axes": mask, "piece", "dims": [["vocab", size, real_size, [axis, ...]]]}],
 *    "classes": [{"name", "bounds": [[first, end], ...],
 *                 "tensors": [["NAME", "KIND", "DTYPE", layer_first, layer_count, layout], ...]}],
 *    "settings": [["KEY", "VALUE", "ORIGIN", "EFFECT"], ...],
 *    "parts": [[number, bytes, "16 hex digits"], ...],
 *    "sum": "16 hex digits"}
 *
 * `sum` is the XXH3-64 of the file with these digits as zeros. */
#ifndef LOCKSTEP_MANIFEST_H
#define LOCKSTEP_MANIFEST_H

#include "runtime/plan/control.h"
#include "runtime/state/rows.h"

enum {
  CHECKPOINT_VERSION = 5,
  MANIFEST_BYTES_MAX = 64 << 20,
  MANIFEST_WHY_BYTES = 256,
  MANIFEST_PROGRAM_BYTES = 32
};

#define MANIFEST_FILE "manifest.json"
/* Folder of Lua files: in a checkpoint, and in the run folder, where each plan has one by its id.
 */
#define MANIFEST_SOURCES "source"

/* A file of the checkpoint. */
typedef struct ManifestPart {
  int32_t number; /* mesh_number of the rank that wrote it */
  uint64_t file_bytes;
  uint64_t sum; /* the last of its __sums__ */
} ManifestPart;

/* The facts of one save. */
typedef struct ManifestFacts {
  int64_t step;    /* the last one done */
  int64_t samples; /* consumed so far */
  int64_t generation;
  uint64_t save;
  double lr; /* of `step` */
  Control lasting;
  uint64_t lasting_mask; /* CONTROL_BITs of the slots that it has */
} ManifestFacts;

/* The sum of the data of a checkpoint whose run was not ours: any data continue with it. */
#define MANIFEST_DATA_ANY UINT64_MAX

/* The facts of the run. */
typedef struct ManifestRun {
  uint64_t plan_id;
  uint64_t data_sum;    /* samples_identity of the training data */
  uint64_t weights_sum; /* of the files that parameters began with (sums.h); 0: none, or
                           unknown */
  int64_t last_step;
  int64_t sample_tokens;
  int64_t epoch_samples; /* how many samples the training data have; 0: unknown */
  char program[MANIFEST_PROGRAM_BYTES];
} ManifestRun;

typedef struct Manifest {
  ManifestFacts facts;
  ManifestRun run;
  Plan plan;   /* axes, classes, bounds, tensors, layouts, layout_dims, cuts, settings and strings;
                  ranks are placed in order of their mesh_number */
  State state; /* of `plan` */
  ManifestPart *part; /* by ascending number */
  int32_t part_count;
  void *tables; /* memory of `plan` */
} Manifest;

/* Why a text is no manifest of this format. */
typedef enum ManifestFault {
  MANIFEST_WHOLE,
  MANIFEST_NO_MEMORY,
  MANIFEST_DAMAGED,
  MANIFEST_FOREIGN /* of another version */
} ManifestFault;

/* `why` is a clause without the file's name: "has checkpoint format 6, ...". The manifest must not
 * be moved afterwards, because `state` points to `plan`. manifest_close in any case. */
ManifestFault manifest_read(Manifest *manifest, const char *text, size_t bytes,
                            char why[MANIFEST_WHY_BYTES]);
void manifest_close(Manifest *manifest);

/* False: the folder at `path` is named as the checkpoint of another step, so the manifest is not
 * its own; `why` says of which. A folder of another name may have any. */
bool manifest_is_of(const Manifest *manifest, const char *path, char why[MANIFEST_WHY_BYTES]);

/* The part of that number; NULL: none. */
const ManifestPart *manifest_part(const Manifest *manifest, int32_t number);

/* ---- writing: what does not change from save to save is made once, and a save allocates nothing
 */

typedef struct ManifestText {
  const State *state;
  char *run; /* the facts of the run, tables and settings */
  size_t run_bytes;
  char *text; /* room for the whole */
  size_t room;
} ManifestText;

bool manifest_text_open(ManifestText *text, const State *state, const ManifestRun *run,
                        int32_t part_count);
void manifest_text_close(ManifestText *text);
/* Returns the number of bytes in `text`. */
size_t manifest_text(ManifestText *text, const ManifestFacts *facts, const ManifestPart *part,
                     int32_t part_count);

#endif
