/* codes.h -- a moment in 8 bits an element: blocks of 256 elements with an fp32 maximum, and for
 * each element the number of the nearest value of a fixed map, relative to the maximum. The map is
 * the dynamic map of 8-bit optimizers (Dettmers et al., arXiv:2110.02861): seven decades, the i-th
 * of which is 2^i equal parts of [0.1, 1] 10^(i - 6), and the values are the parts' middles.
 *
 *   signed (m)     those of both signs, 0, and 1       code 127 is 0
 *   positive (v)   twice as many parts, 0, and 1       code 0 is 0
 *
 * Values of a map are in order, so the number q of a value among the positive ones says its decade:
 * with h = 2 q + 1 (positive: 2 q + 3) and f in [1, 2) its significand, the value is 10^(i - 6)
 * (0.9 f - 0.8). Ties go to the lower value. All steps are single fp32 operations in a fixed order,
 * so that every processor has the same codes for the same numbers. */
#ifndef LOCKSTEP_CODES_H
#define LOCKSTEP_CODES_H

#include <math.h>
#include <stdint.h>

#include "kernels/inline.h"
#include "runtime/plan/limits.h"

/* The decades of a map: decade 0 is the value 0, and the last the value 1. */
enum { CODES_THRESHOLDS = 8, CODES_DECADES = 9, CODES_SIGNED_ZERO = 127 };

/* A number y in [0, 1] is in the decade that as many thresholds are below y as its number says;
 * there it is value ceil(y scale + shift) - 1, but none outside [low, high]. */
typedef struct CodesMap {
  float threshold[CODES_THRESHOLDS];
  float scale[CODES_DECADES], shift[CODES_DECADES], low[CODES_DECADES], high[CODES_DECADES];
} CodesMap;

/* `parts` of decade 1; `from` is added to all numbers of values. */
/* clang-format off */
#define CODES_DECADE_OF(X, parts, from)                                                            \
  {0, X(parts, 1e-6, from), X(2 * (parts), 1e-5, from), X(4 * (parts), 1e-4, from),                \
   X(8 * (parts), 1e-3, from), X(16 * (parts), 1e-2, from), X(32 * (parts), 1e-1, from),           \
   X(64 * (parts), 1e0, from)
#define CODES_SCALE(parts, ten, from) (float)((parts) / (0.9 * (ten)))
#define CODES_SHIFT(parts, ten, from) (float)((parts) * 0.8 / 0.9 + (from))
#define CODES_LOW(parts, ten, from)   (float)((parts) + (from))
#define CODES_HIGH(parts, ten, from)  (float)(2 * (parts) - 1 + (from))
#define CODES_AFTER(parts, ten)       (float)((ten) * (1 + 0.9 / (parts)))
#define CODES_THRESHOLDS_OF(parts, least)                                                          \
  (float)(least), CODES_AFTER(parts, 1e-6), CODES_AFTER(2 * (parts), 1e-5),                        \
  CODES_AFTER(4 * (parts), 1e-4), CODES_AFTER(8 * (parts), 1e-3), CODES_AFTER(16 * (parts), 1e-2), \
  CODES_AFTER(32 * (parts), 1e-1), (float)(1 - 0.225 / (64 * (parts)))
#define CODES_MAP(parts, least, from)                                                              \
  {{CODES_THRESHOLDS_OF(parts, least)},                                                            \
   CODES_DECADE_OF(CODES_SCALE, parts, from), 0},                                                  \
   CODES_DECADE_OF(CODES_SHIFT, parts, from), 0},                                                  \
   CODES_DECADE_OF(CODES_LOW, parts, from), (float)(128 * (parts) + (from))},                      \
   CODES_DECADE_OF(CODES_HIGH, parts, from), (float)(128 * (parts) + (from))}}
#define CODES_SIGNED   CODES_MAP(1.0, 0.275e-6, 0.0)
#define CODES_POSITIVE CODES_MAP(2.0, 0.0, -1.0)
/* clang-format on */

/* A value is fma(slope, f, base) of its decade. */
#define CODES_SLOPES                                                                               \
  { 0, 0.9e-6f, 0.9e-5f, 0.9e-4f, 0.9e-3f, 0.9e-2f, 0.9e-1f, 0.9f, 0 }
#define CODES_BASES                                                                                \
  { 0, -0.8e-6f, -0.8e-5f, -0.8e-4f, -0.8e-3f, -0.8e-2f, -0.8e-1f, -0.8f, 1 }

/* The factor that scales a block before it is coded. Finite, and 0 for a block of
 * zeros. */
KERNEL_INLINE float codes_inverse(float most) {
  const float inverse = 1.0f / most;
  return most == 0.0f ? 0.0f : inverse < 3.4028235e38f ? inverse : 3.4028235e38f;
}

/* The number of the value nearest to y >= 0 among 0 and the positive ones. */
KERNEL_INLINE float codes_nearest(const CodesMap *map, float y) {
  int decade = 0;
  for (int k = 0; k < CODES_THRESHOLDS; k++)
    decade += y > map->threshold[k];
  const float at = ceilf(fmaf(y, map->scale[decade], map->shift[decade])) - 1.0f;
  if (!(at >= map->low[decade])) return map->low[decade]; /* so is a NaN */
  return at > map->high[decade] ? map->high[decade] : at;
}

/* There is no -1. */
KERNEL_INLINE uint8_t codes_signed(const CodesMap *map, float x, float inverse) {
  const int number = (int)codes_nearest(map, fabsf(x * inverse));
  if (x < 0) return (uint8_t)(CODES_SIGNED_ZERO - (number > 127 ? 127 : number));
  return (uint8_t)(CODES_SIGNED_ZERO + number);
}

/* A positive number never becomes 0: a step divides by its root. */
KERNEL_INLINE uint8_t codes_positive(const CodesMap *map, float x, float inverse) {
  const int number = (int)codes_nearest(map, x * inverse);
  return (uint8_t)(number == 0 && x > 0 ? 1 : number);
}

/* The value of number q among those from `h` = 2 q + 1 on, in the decades that begin with `first`.
 */
KERNEL_INLINE float codes_value(int h, int first) {
  const float slope[CODES_DECADES] = CODES_SLOPES, base[CODES_DECADES] = CODES_BASES;
  int power = first;
  while (h >> (power + 1) != 0)
    power++;
  return fmaf(slope[power - first], (float)h / (float)(1 << power), base[power - first]);
}

KERNEL_INLINE float codes_signed_value(uint8_t code) {
  const int number = (int)code - CODES_SIGNED_ZERO;
  return number < 0 ? -codes_value(1 - 2 * number, 0) : codes_value(1 + 2 * number, 0);
}

KERNEL_INLINE float codes_positive_value(uint8_t code) {
  return codes_value(2 * (int)code + 3, 1);
}

#endif
