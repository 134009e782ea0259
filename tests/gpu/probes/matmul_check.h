/* matmul_check.h -- compares what a matmul left on the device with the fp64 reference. */
#ifndef GPU_MATMUL_CHECK_H
#define GPU_MATMUL_CHECK_H

#include "tests/gpu/common/probe.h"
#include "tests/gpu/probes/matmul_case.h"

/* Host copies, or readers, of the three things a matmul writes. `read` fetches one element. */
typedef struct {
  bool (*read)(const void *array, NumberType type, int64_t index, double *value);
  const void *result, *aux, *bias;
} MatmulOutput;

/* All elements of a small result, 64 scattered ones of a large one. Bias gradients only on small
 * results: they need whole columns. Fails when an element is outside its tolerance.
 *
 * The tolerance allows an algorithm to round the product to bf16 before its epilogue.
 * *rounded_twice counts the elements that need that allowance: more than one rounding explains. */
bool matmul_check(const MatmulCase *matmul, const MatmulOutput *output, Difference *difference,
                  int64_t *rounded_twice);

#endif
