/* fp8.h -- numbers of eight bits, and the scales that tensors are stored with in them.
 *
 *            exponent   mantissa   bias   largest    infinity   NaN
 *   E4M3     4 bits     3 bits     7      448        none       0x7f
 *   E5M2     5 bits     2 bits     15     57,344     0x7c       0x7d to 0x7f
 *
 * A cast rounds to nearest, ties to even, and saturates. A block of numbers is stored as codes of
 * x s, with s the largest power of two that keeps its largest magnitude within the format, and 1 /
 * s. So code / s is exact in bf16: four significant bits at most, and no exponent below 2^-116. */
#ifndef LOCKSTEP_FP8_H
#define LOCKSTEP_FP8_H

#include <stdint.h>
#include <string.h>

#include "kernels/inline.h"

typedef struct Fp8Format {
  int32_t mantissa, bias;
  uint32_t largest; /* as a code */
} Fp8Format;

KERNEL_INLINE Fp8Format fp8_format(int is_e5m2) {
  Fp8Format format = {is_e5m2 ? 2 : 3, is_e5m2 ? 15 : 7, is_e5m2 ? 0x7bu : 0x7eu};
  return format;
}

KERNEL_INLINE uint32_t fp8_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

KERNEL_INLINE float fp8_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Below the smallest normal number, adding a number whose last bit is the format's smallest step
 * rounds to that step. */
KERNEL_INLINE uint8_t fp8_from_float(float value, int is_e5m2) {
  const Fp8Format f = fp8_format(is_e5m2);
  const uint32_t shift = 23u - (uint32_t)f.mantissa, bits = fp8_bits(value);
  const uint32_t sign = bits >> 24 & 0x80u, magnitude = bits & 0x7fffffffu;
  const uint32_t least_normal = (uint32_t)(128 - f.bias) << 23;
  const uint32_t step = (uint32_t)(127 + 23 + 1 - f.bias - f.mantissa) << 23;
  const uint32_t small = fp8_bits(fp8_of_bits(magnitude) + fp8_of_bits(step)) - step;
  const uint32_t odd = magnitude >> shift & 1u;
  const uint32_t large = ((magnitude + ((1u << (shift - 1)) - 1u) + odd) >> shift) -
                         ((uint32_t)(127 - f.bias) << f.mantissa);
  uint32_t code = magnitude < least_normal ? small : large;
  code = code > f.largest ? f.largest : code;
  code = magnitude > 0x7f800000u ? 0x7fu : code;
  return (uint8_t)(sign | code);
}

KERNEL_INLINE float fp8_to_float(uint8_t code, int is_e5m2) {
  const Fp8Format f = fp8_format(is_e5m2);
  const uint32_t shift = 23u - (uint32_t)f.mantissa, sign = (uint32_t)(code & 0x80u) << 24;
  const uint32_t magnitude = code & 0x7fu, exponent = magnitude >> f.mantissa;
  const uint32_t normal = (magnitude << shift) + ((uint32_t)(127 - f.bias) << 23);
  const uint32_t one = (uint32_t)(128 - f.bias) << 23; /* of the smallest normal number */
  const uint32_t small = fp8_bits(fp8_of_bits((magnitude << shift) + one) - fp8_of_bits(one));
  uint32_t bits = exponent == 0 ? small : normal;
  if (magnitude > f.largest) bits = is_e5m2 && magnitude == 0x7cu ? 0x7f800000u : 0x7fc00000u;
  return fp8_of_bits(sign | bits);
}

enum { FP8_EXPONENT_MOST = 100 }; /* of a scale */

/* The exponent of s: floor(log2(largest / highest)), at most 100. `highest`: bits of the highest
 * magnitude, which is finite; 448 = 1.75 2^8 and 57,344 = 1.75 2^15. 0 when all is 0. */
KERNEL_INLINE int32_t fp8_exponent(uint32_t highest, int is_e5m2) {
  const int32_t exponent = (is_e5m2 ? 15 : 8) - ((int32_t)(highest >> 23) - 127);
  const int32_t fits = exponent - ((highest & 0x7fffffu) > 0x600000u);
  if (highest == 0) return 0;
  return fits > FP8_EXPONENT_MOST ? FP8_EXPONENT_MOST : fits;
}

/* 2^exponent, of a normal number. */
KERNEL_INLINE float fp8_power(int32_t exponent) {
  return fp8_of_bits((uint32_t)(127 + exponent) << 23);
}

/* The factor that decodes: 1 / s; a NaN when one of the numbers is
 * not finite, so that everything that is made of them is found. */
KERNEL_INLINE float fp8_scale(uint32_t highest, int is_e5m2) {
  if (highest >= 0x7f800000u) return fp8_of_bits(0x7fc00000u);
  return fp8_power(-fp8_exponent(highest, is_e5m2));
}

/* The code of a number of a block. */
KERNEL_INLINE uint8_t fp8_code(float value, uint32_t highest, int is_e5m2) {
  if (highest >= 0x7f800000u) return 0x7f;
  return fp8_from_float(value * fp8_power(fp8_exponent(highest, is_e5m2)), is_e5m2);
}

#endif
