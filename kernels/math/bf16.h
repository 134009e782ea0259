/* bf16.h -- bf16 is the upper half of an f32. */
#ifndef LOCKSTEP_BF16_H
#define LOCKSTEP_BF16_H

#include <stdint.h>
#include <string.h>

static inline float bf16_to_float(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* To nearest, ties to even. A NaN keeps its sign and upper payload and becomes quiet; rounding it
 * like a number could carry it into infinity. */
static inline uint16_t bf16_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
