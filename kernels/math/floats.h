/* floats.h -- one element of a float dtype, as an f32. Not of f64. */
#ifndef LOCKSTEP_FLOATS_H
#define LOCKSTEP_FLOATS_H

#include "kernels/math/bf16.h"
#include "kernels/math/f16.h"
#include "runtime/plan/dtype.h"

static inline float float_get(const void *base, int64_t element, DType dtype) {
  if (dtype == DTYPE_F32) return ((const float *)base)[element];
  const uint16_t bits = ((const uint16_t *)base)[element];
  return dtype == DTYPE_F16 ? f16_to_float(bits) : bf16_to_float(bits);
}

static inline void float_put(void *base, int64_t element, DType dtype, float value) {
  if (dtype == DTYPE_F32)
    ((float *)base)[element] = value;
  else
    ((uint16_t *)base)[element] =
        dtype == DTYPE_F16 ? f16_from_float(value) : bf16_from_float(value);
}

#endif
