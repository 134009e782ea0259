/* tensors.h -- whole tensors, put together from what the ranks of a run hold. */
#ifndef LOCKSTEP_TESTS_TENSORS_H
#define LOCKSTEP_TESTS_TENSORS_H

#include "compiler/draft/draft.h"
#include "tests/parity/fleet.h"

/* One layer of a parameter, or of its gradient, as one rank alone would have it. */
typedef struct Tensor {
  char name[128]; /* the layer takes the place of the * */
  int64_t count;
  float *values;
  uint8_t *seen; /* of each value: some rank had it */
} Tensor;

typedef struct Tensors {
  Tensor *at;
  int32_t count;
} Tensors;

/* Reads BASE_PARAM or BASE_GRAD of every rank. Ranks that hold the same number must have the same
 * bits, and no number may be missing; else false, and it was printed. Gradients are those of the
 * last step, reduced: with ZeRO 1 a rank answers for its own piece alone. */
bool tensors_read(Tensors *tensors, const Draft *draft, const Fleet *fleet, BaseRole role);
void tensors_free(Tensors *tensors);

/* Root of the mean square. */
double tensor_rms(const Tensor *tensor);
/* Distances of two tensors of one shape: the largest difference, and the root of the squares of
 * all. */
double tensor_farthest(const Tensor *a, const Tensor *b);
double tensor_distance(const Tensor *a, const Tensor *b);

#endif
