/* choices.h -- the cublasLt algorithm chosen for each matrix product and cuDNN's plan for each
 * attention, for all ranks of the process, and the readable file beside the plan that keeps the
 * choices: one line for each product. */
#ifndef LOCKSTEP_CUDA_CHOICES_H
#define LOCKSTEP_CUDA_CHOICES_H

#include <stdbool.h>

#include "kernels/cuda/lt_api.h"

enum { CHOICE_GPU_BYTES = 96, CHOICE_ATTENTION_BYTES = 192, CHOICES_WHY_BYTES = 512 };

/* The key of a choice: matrices as in cublasLt, column-major. */
typedef struct ChoiceKey {
  char gpu[CHOICE_GPU_BYTES];
  uint64_t version; /* of the library */
  int64_t m, n, k;
  int32_t transpose_a, transpose_b, factors, result, epilogue; /* as in lt_api.h */
  uint32_t align_bytes;                                        /* of every matrix */
  uint64_t workspace_most;
  char attention[CHOICE_ATTENTION_BYTES]; /* "": a product. Else its shape, without m to align_bytes
                                           */
} ChoiceKey;

/* For attention data[0] is the number of the configuration that cuDNN recommends, and `id` its
 * engine. */
typedef struct LtChoice {
  ChoiceKey shape;
  LtAlgorithm algorithm;
  uint64_t workspace_bytes;
  /* For people: of the algorithm; the time of a run, and that of the library's first suggestion (0:
   * not timed); the driver that it was timed with. */
  int32_t id, tile, stages, split_k;
  int64_t took_ns, first_ns;
  int32_t driver;
  /* The time of what this product replaces where it is fused with a pass over memory: a product
   * without that, and the pass. 0: they were not compared. */
  int64_t apart_ns;
} LtChoice;

/* True if the records run faster apart, by more than noise. */
bool choice_is_apart(const LtChoice *choice);

/* False: none yet. */
bool choices_find(const ChoiceKey *shape, LtChoice *choice);
/* Replaces an earlier choice for the same shape, and counts as added if it is another. False: out
 * of memory. */
bool choices_add(const LtChoice *choice);
/* The choice with this number, from 0; false: there are fewer. */
bool choices_at(int32_t number, LtChoice *choice);
/* The number of choices; `added`: since the last read, write or clear. */
int32_t choices_count(int32_t *added);
void choices_clear(void);

/* From now on it is an error if the library no longer accepts a kept choice, instead of a reason to
 * choose again: for runs that must round as the previous one. */
void choices_hold(bool always);
bool choices_are_held(void);

/* Adds the choices of the file, which may be missing. False: `why` says which line is invalid. */
bool choices_read(const char *path, char why[CHOICES_WHY_BYTES]);
/* Writes all choices and replaces the file: a reader sees the old one or the new one. */
bool choices_write(const char *path, char why[CHOICES_WHY_BYTES]);

#endif
