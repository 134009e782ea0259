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

/* Elements of a tensor: first, first + step, first + 2 step, ... */
typedef struct Strided {
  Tensor of;
  int64_t first, step;
} Strided;

/* Elements [begin, end) as inputs of a product, in doubles. The switch over the dtype is outside
 * the loop, because products take most of the reference's time. */
static inline void factors(Strided x, int64_t begin, int64_t end, bool tf32, double *to) {
  const void *at = x.of.at;
  const int64_t first = x.first, step = x.step;
  switch (x.of.dtype) {
  case DTYPE_F32:
    for (int64_t i = begin; i < end; i++) {
      const float value = ((const float *)at)[first + i * step];
      *to++ = (double)(tf32 ? tf32_round(value) : value);
    }
    break;
  case DTYPE_BF16:
    for (int64_t i = begin; i < end; i++)
      *to++ = (double)bf16_to_float(((const uint16_t *)at)[first + i * step]);
    break;
  case DTYPE_E4M3:
    for (int64_t i = begin; i < end; i++)
      *to++ = (double)fp8_to_float(((const uint8_t *)at)[first + i * step], false);
    break;
  case DTYPE_E5M2:
    for (int64_t i = begin; i < end; i++)
      *to++ = (double)fp8_to_float(((const uint8_t *)at)[first + i * step], true);
    break;
  default:
    for (int64_t i = begin; i < end; i++)
      *to++ = load(x.of, first + i * step);
  }
}

enum { CHUNK = 256 }; /* elements of a sum that are on the stack at once */

/* sum + a[0] b[0] + ... + a[n - 1] b[n - 1], in this order. */
static inline double dot(double sum, Strided a, Strided b, int64_t n, bool tf32) {
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    const int64_t end = n - begin < CHUNK ? n : begin + CHUNK;
    double x[CHUNK], y[CHUNK];
    factors(a, begin, end, tf32, x);
    factors(b, begin, end, tf32, y);
    for (int64_t i = 0; i < end - begin; i++)
      sum += x[i] * y[i];
  }
  return sum;
}

/* For operands marked `acc`: one rounding per call, so callers finish their sum first. */
static inline void store_or_add(Tensor t, int64_t i, double value, bool add) {
  store(t, i, add ? load(t, i) + value : value);
}

#endif
