/* choices.h -- which algorithm of cublasLt each product of matrices got, for all ranks of the
 * process, and the file that keeps it beside the plan: a line a product, read by people too. */
#ifndef LOCKSTEP_CUDA_CHOICES_H
#define LOCKSTEP_CUDA_CHOICES_H

#include <stdbool.h>

#include "kernels/cuda/lt_api.h"

enum { CHOICE_GPU_BYTES = 96, CHOICES_WHY_BYTES = 512 };

/* What a choice holds for: matrices as cublasLt has them, column after column. */
typedef struct ProductShape {
  char gpu[CHOICE_GPU_BYTES];
  uint64_t version; /* of the library */
  int64_t m, n, k;
  int32_t transpose_a, transpose_b, factors, result, epilogue; /* as in lt_api.h */
  uint32_t align_bytes;                                        /* of every matrix */
  uint64_t workspace_most;
} ProductShape;

typedef struct ProductChoice {
  ProductShape shape;
  LtAlgorithm algorithm;
  uint64_t workspace_bytes;
  int32_t id, tile, stages, split_k; /* of the algorithm, for people */
} ProductChoice;

/* False: none yet. */
bool choices_find(const ProductShape *shape, ProductChoice *choice);
/* Instead of an earlier one of its shape. False: no memory. */
bool choices_add(const ProductChoice *choice);
/* All that there are; `added`: since the last read, write or clear. */
int32_t choices_count(int32_t *added);
void choices_clear(void);

/* From now on a choice that is kept, and that the library no longer takes, is an error, and no
 * reason to choose anew: where a run shall round as the one before. */
void choices_hold(bool always);
bool choices_are_held(void);

/* Adds what the file has; none there is fine. False: `why` says which line is no choice. */
bool choices_read(const char *path, char why[CHOICES_WHY_BYTES]);
/* All of them, in place of the file that is there: a reader sees the old one or the new one. */
bool choices_write(const char *path, char why[CHOICES_WHY_BYTES]);

#endif
