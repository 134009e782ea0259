/* access.h -- how the reference kernels read and write: any dtype in memory, doubles in between.
 */
#ifndef LOCKSTEP_REFERENCE_ACCESS_H
#define LOCKSTEP_REFERENCE_ACCESS_H

#include <math.h>
#include <string.h>

#include "kernels/math/floats.h"
#include "kernels/math/fp8.h"
#include "kernels/math/tf32.h"
#include "kernels/variants.h"

typedef struct Tensor {
  void *at;
  DType dtype;
} Tensor;

static inline Tensor tensor(const KernelArgs *args, int32_t operand) {
  return (Tensor){args->operand[operand], (DType)args->dtype[operand]};
}

static inline double load(Tensor t, int64_t i) {
  switch (t.dtype) {
  case DTYPE_F32:
  case DTYPE_BF16:
  case DTYPE_F16: return (double)float_get(t.at, i, t.dtype);
  case DTYPE_I32: return ((const int32_t *)t.at)[i];
  case DTYPE_F64: return ((const double *)t.at)[i];
  case DTYPE_I16: return ((const int16_t *)t.at)[i];
  case DTYPE_E4M3:
  case DTYPE_E5M2: return (double)fp8_to_float(((const uint8_t *)t.at)[i], t.dtype == DTYPE_E5M2);
  case DTYPE_U8: return ((const uint8_t *)t.at)[i];
  case DTYPE_COUNT: break;
  }
  return NAN;
}

static inline void store(Tensor t, int64_t i, double value) {
  switch (t.dtype) {
  case DTYPE_F32:
  case DTYPE_BF16:
  case DTYPE_F16: float_put(t.at, i, t.dtype, (float)value); break;
  case DTYPE_I32: ((int32_t *)t.at)[i] = (int32_t)value; break;
  case DTYPE_F64: ((double *)t.at)[i] = value; break;
  case DTYPE_I16: ((int16_t *)t.at)[i] = (int16_t)value; break;
  case DTYPE_E4M3:
  case DTYPE_E5M2:
    ((uint8_t *)t.at)[i] = fp8_from_float((float)value, t.dtype == DTYPE_E5M2);
    break;
  case DTYPE_U8: ((uint8_t *)t.at)[i] = (uint8_t)value; break;
  case DTYPE_COUNT: break;
  }
}

/* An input of a product. */
static inline double factor(Tensor t, int64_t i, bool tf32) {
  return tf32 && t.dtype == DTYPE_F32 ? (double)tf32_round((float)load(t, i)) : load(t, i);
}

/* For operands marked `acc`: one rounding per call, so callers finish their sum first. */
static inline void store_or_add(Tensor t, int64_t i, double value, bool add) {
  store(t, i, add ? load(t, i) + value : value);
}

#endif
