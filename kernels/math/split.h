/* split.h -- an f32 in two parts: a bf16, and 16 more bits (DTYPE_I16).
 *
 *     u = bits of the f32      high = (u + 0x8000) >> 16      low = (int16) (u - (high << 16))
 *     and back                 u = (high << 16) + low
 *
 * Lossless for all 2^32 patterns. The bf16 rounds ties away from zero: to nearest even, an even
 * high would have 65,537 preimages (low from -32,768 to 32,768), one more than 16 bits tell apart.
 */
#ifndef LOCKSTEP_SPLIT_H
#define LOCKSTEP_SPLIT_H

#include <stdint.h>
#include <string.h>

#include "kernels/inline.h"

KERNEL_INLINE uint16_t split_high(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x8000u) >> 16);
}

/* The difference is within 16 bits, so it is the lower half of u, read with a sign. */
KERNEL_INLINE int16_t split_low(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (int16_t)(uint16_t)bits;
}

KERNEL_INLINE float split_join(uint16_t high, int16_t low) {
  uint32_t bits = ((uint32_t)high << 16) + (uint32_t)(int32_t)low;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#endif
