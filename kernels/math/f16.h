/* f16.h -- fp16, IEEE 754's binary16: a sign, 5 bits of exponent, 10 of fraction. The largest
 * number is 65,504, the smallest normal one 2^-14, the smallest subnormal one 2^-24. As F16C
 * converts. */
#ifndef LOCKSTEP_F16_H
#define LOCKSTEP_F16_H

#include <stdint.h>
#include <string.h>

/* Exact. A NaN becomes quiet. */
static inline float f16_to_float(uint16_t bits) {
  const uint32_t exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
  uint32_t wide = (exponent + 112u) << 23 | fraction << 13;
  float value;
  if (exponent == 31u)
    wide = 0x7f800000u | (fraction != 0 ? 0x400000u : 0u) | fraction << 13;
  else if (exponent == 0) {
    value = (float)fraction * 0x1p-24f;
    memcpy(&wide, &value, sizeof wide);
  }
  wide |= (uint32_t)(bits & 0x8000u) << 16;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* To nearest, ties to even; from 65,520 on infinity. A NaN keeps its sign and upper payload and
 * becomes quiet. Below 2^-14 the sum with 0.5, whose last bit is worth 2^-24, rounds. */
static inline uint16_t f16_from_float(float value) {
  uint32_t bits, size;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000u;
  size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (size >> 13 & 0x3ffu));
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (size < 0x38800000u) {
    float small;
    memcpy(&small, &size, sizeof small);
    small += 0.5f;
    memcpy(&size, &small, sizeof size);
    return (uint16_t)(sign | (size - 0x3f000000u));
  }
  size += 0xfffu + (size >> 13 & 1u);
  return (uint16_t)(sign | (size - (112u << 23)) >> 13);
}

#endif
