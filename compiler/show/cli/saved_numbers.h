/* saved_numbers.h -- elements of checkpoints as numbers. */
#ifndef LOCKSTEP_SAVED_NUMBERS_H
#define LOCKSTEP_SAVED_NUMBERS_H

#include <math.h>
#include <string.h>

#include "runtime/plan/dtype.h"

static inline float number_of_bf16(uint16_t high) {
  uint32_t bits = (uint32_t)high << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Element `i`; whole numbers of optimizers and scales are numbers like others. */
static inline double number_at(const void *elements, DType dtype, int64_t i) {
  switch (dtype) {
  case DTYPE_F32: return ((const float *)elements)[i];
  case DTYPE_F64: return ((const double *)elements)[i];
  case DTYPE_BF16: return number_of_bf16(((const uint16_t *)elements)[i]);
  case DTYPE_I32: return ((const int32_t *)elements)[i];
  case DTYPE_I16: return ((const int16_t *)elements)[i];
  default: return NAN;
  }
}

/* To nearest, ties to even, as an update rounds a master to its weight. */
static inline uint16_t bf16_of_number(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
