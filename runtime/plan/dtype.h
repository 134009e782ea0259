/* dtype.h -- the element types that plans, kernels and the compiler share. */
#ifndef LOCKSTEP_PLAN_DTYPE_H
#define LOCKSTEP_PLAN_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

/* Stored in plans: append only. */
typedef enum DType {
  DTYPE_F32 = 0,
  DTYPE_BF16 = 1, /* upper half of an f32, rounded to nearest even */
  DTYPE_I32 = 2,  /* token ids; negative = padding with weight 0 */
  DTYPE_F64 = 3,  /* loss sums, control values, and every value of the finite-difference tests */
  DTYPE_I16 = 4,  /* the lower half of an f32 whose upper half is a bf16: kernels/math/split.h */
  DTYPE_F16 = 5,  /* IEEE 754's binary16: kernels/math/f16.h */
  DTYPE_E4M3 = 6, /* codes of eight bits, with their own scales: kernels/math/fp8.h */
  DTYPE_E5M2 = 7,
  DTYPE_U8 = 8, /* codes of a moment, or padding between them: kernels/math/codes.h */
  DTYPE_COUNT
} DType;

static inline int64_t dtype_bytes(DType dtype) {
  static const int64_t bytes[DTYPE_COUNT] = {4, 2, 4, 8, 2, 2, 1, 1, 1};
  return bytes[dtype];
}

static inline const char *dtype_name(DType dtype) {
  static const char *const names[DTYPE_COUNT] = {"fp32", "bf16", "i32",  "fp64", "i16",
                                                 "fp16", "e4m3", "e5m2", "u8"};
  return names[dtype];
}

/* The dtypes that parameters, activations and gradients may have. */
static inline bool dtype_is_float(DType dtype) {
  return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_F16 || dtype == DTYPE_F64;
}

static inline bool dtype_is_fp8(DType dtype) {
  return dtype == DTYPE_E4M3 || dtype == DTYPE_E5M2;
}

#endif
