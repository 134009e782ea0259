/* saved_numbers.h -- elements of checkpoints as numbers. */
#ifndef LOCKSTEP_SAVED_NUMBERS_H
#define LOCKSTEP_SAVED_NUMBERS_H

#include <math.h>

#include "kernels/math/floats.h"

/* Element `i`; whole numbers are numbers like others. */
static inline double number_at(const void *elements, DType dtype, int64_t i) {
  if (dtype == DTYPE_F64) return ((const double *)elements)[i];
  if (dtype == DTYPE_I32) return ((const int32_t *)elements)[i];
  if (dtype == DTYPE_I16) return ((const int16_t *)elements)[i];
  return (double)float_get(elements, i, dtype);
}

#endif
