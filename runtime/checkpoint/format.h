/* format.h -- checkpoint format 5: names of files, keys and fields. docs/checkpoints.md describes
 * it; runtime/state/rows.h says which rank writes what.
 *
 *   step_00000300/part-00005.safetensors   of each rank that writes, by its mesh_number
 *                 manifest.json            written when all parts are
 *                 job.json                 the record of the run
 *
 * A part:
 *   u64 length | JSON header, blanks to a multiple of 4096 | tensors | __pad__ | __sums__
 *
 * __pad__ (U8) fills up to a multiple of 8. __sums__ (U64) are the XXH3-64 of each block of 1 MiB
 * of everything before it, and at last the XXH3-64 of these sums. Keys are NAME (param) or
 * NAME/KIND, and with #NUMBER of the part after it where the part does not have the whole tensor;
 * shapes are [box counts], or [count] where the part has only a range of its box. __metadata__
 * holds texts: format "lockstep", version "5", step (12 digits), save (16 hex digits), part, block,
 * and pieces: {"KEY": {"name", "kind", "shape", "box": [[first, count], ...], "range": [first,
 * count]}}
 */
#ifndef LOCKSTEP_CHECKPOINT_FORMAT_H
#define LOCKSTEP_CHECKPOINT_FORMAT_H

#include "runtime/plan/control.h"
#include "runtime/state/rows.h"

enum {
  CHECKPOINT_VERSION = 5,
  CHECKPOINT_BLOCK_BYTES = 1 << 20,
  CHECKPOINT_DATA_ALIGN = 4096,
  CHECKPOINT_PAD_ALIGN = 8,
  CHECKPOINT_MANIFEST_BYTES_MAX = 64 << 20
};

#define CHECKPOINT_STEP_NAME "step_%08lld"          /* a whole checkpoint's folder */
#define CHECKPOINT_NEW_NAME  "step_%08lld.%lld.new" /* one being written: step, generation */
#define CHECKPOINT_OLD_NAME  "step_%08lld.old"      /* one being removed */
#define CHECKPOINT_PART_NAME "part-%05d.safetensors"
#define CHECKPOINT_MANIFEST  "manifest.json"
#define CHECKPOINT_PAD_KEY   "__pad__"
#define CHECKPOINT_SUMS_KEY  "__sums__"

/* A file of the checkpoint. */
typedef struct ManifestPart {
  int32_t number;
  uint64_t file_bytes;
  uint64_t sum; /* the last of its __sums__ */
} ManifestPart;

/* manifest.json:
 *   {"format": "lockstep", "version": 5, "step", "save": 16 hex digits, "generation", "samples",
 *    "sample_tokens", "data": 16 hex digits, "plan": 16 hex digits, "lr", "last_step", "lockstep":
 *    version of the program, "control": {"updates": ...}, "part_bytes",
 *    "axes": [["dp", 2], ...],
 *    "layouts": [{"flat_axes", "piece", "dims": [{"name", "size", "real_size", "cuts": [axis]}]}],
 *    "classes": [{"bounds": [[first, end], ...], "tensors": [["NAME", "KIND", "DTYPE", layer_first,
 *      layer_count, layout], ...]}],
 *    "settings": [["KEY", "VALUE", "ORIGIN", "EFFECT"], ...],
 *    "parts": [["part-00000.safetensors", bytes, "16 hex digits"], ...],
 *    "sum": XXH3-64 of the file with these 16 digits as zeros}
 */
typedef struct Manifest {
  int64_t step, last_step, generation, samples, sample_tokens;
  uint64_t save, data_sum, plan_id;
  double lr;
  Control lasting;
  uint32_t lasting_mask; /* CONTROL_BITs that it has */
  char program[32];
  Plan plan; /* axes, classes, bounds, tensors, layouts, layout_dims, cuts, settings, strings; rank
                = mesh_number */
  State state;
  ManifestPart *part; /* by ascending number */
  int32_t part_count;
  void *block; /* the tables of `plan` */
} Manifest;

#endif
