/* tf32.h -- an f32 with 10 bits of mantissa: what products with precision.compute = "tf32" read. */
#ifndef LOCKSTEP_TF32_H
#define LOCKSTEP_TF32_H

#include <stdint.h>
#include <string.h>

#include "kernels/inline.h"

/* To nearest, ties to even; beyond the largest tf32 to infinity. NaN and infinities stay. */
KERNEL_INLINE float tf32_round(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  bits = (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#endif
