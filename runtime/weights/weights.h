/* weights.h -- the tensors of a model folder as Hugging Face's tools write it: their names, their
 * files, and a hash of their content. The compiler judges headers with it, a run and `export` read
 * elements.
 *
 *   FOLDER/config.json
 *          model.safetensors                 or model.safetensors.index.json and its shards
 *
 * A source names a parameter's tensor, with * for the layer: "model.layers.*.mlp.up_proj.weight".
 */
#ifndef LOCKSTEP_WEIGHTS_H
#define LOCKSTEP_WEIGHTS_H

#include "runtime/safetensors/safetensors.h"

enum { WEIGHTS_PATH_BYTES = 4096, WEIGHTS_NAME_BYTES = 512 };

typedef enum WeightsFound {
  WEIGHTS_ONE,  /* one file, or an index */
  WEIGHTS_BOTH, /* one file and an index beside it: the file is read, as transformers does */
  WEIGHTS_NONE  /* `why` says what to do */
} WeightsFound;

/* Finds the file to give to safe_set_open. */
WeightsFound weights_find(const char *folder, char path[WEIGHTS_PATH_BYTES],
                          char why[SAFE_WHY_BYTES]);

/* A hash of names, dtypes, shapes and, of each tensor, the first, the middle and the last 4 KiB:
 * it does not read hundreds of gigabytes, and a model that was trained further differs in all of
 * them. False: `status`. */
bool weights_sum(const SafeSet *set, uint64_t *sum, Status *status);

/* A checkpoint of ours: a folder with a manifest. */
bool weights_is_checkpoint(const char *folder);
/* Reads the manifest, which has the sums of all parts; the caller frees the text. `sum` is its
 * hash. NULL: `status`. */
char *weights_manifest(const char *folder, size_t *bytes, uint64_t *sum, Status *status);

/* The next pair of "A=B C=D" (PLAN_TIED_KEY), which *pairs is moved beyond. False: there is none.
 */
bool weights_next_tied(const char **pairs, char tensor[WEIGHTS_NAME_BYTES],
                       char like[WEIGHTS_NAME_BYTES]);

/* The name of a layer's tensor. False: it is too long. */
bool weights_name(char name[WEIGHTS_NAME_BYTES], const char *source, int32_t layer);

#endif
