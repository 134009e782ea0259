/* draw.h -- one class of a row of logits, drawn as `draw` in kernels.def says. Logits are compared
 * by keys: whole numbers in the order of the floats, so that a bound is found by bisection. */
#ifndef LOCKSTEP_DRAW_H
#define LOCKSTEP_DRAW_H

#include <stdint.h>
#include <string.h>

#include "kernels/inline.h"
#include "kernels/math/philox.h"

enum { DRAW_KEY_BITS = 32 };

KERNEL_INLINE uint32_t draw_key(float logit) {
  uint32_t bits;
  logit += 0.0f; /* -0 is 0 */
  memcpy(&bits, &logit, sizeof bits);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

KERNEL_INLINE float draw_logit(uint32_t key) {
  uint32_t bits = (key & 0x80000000u) != 0 ? key ^ 0x80000000u : ~key;
  float logit;
  memcpy(&logit, &bits, sizeof logit);
  return logit;
}

/* [0, 1) of a position of a sequence, which are counted from 0. */
KERNEL_INLINE double draw_uniform(uint64_t key, int64_t sequence, int64_t position) {
  uint32_t word[4];
  philox4(key, (uint64_t)sequence + 1, (uint64_t)position / 4, word);
  return philox_uniform(word[position % 4]);
}

/* Returns how many of the classes whose key is the bound are kept: classes with higher keys weigh
 * `above` together, and each class at the bound weighs `weight`. */
KERNEL_INLINE int64_t draw_ties(double wanted, double above, double weight) {
  double ties = weight > 0 ? ceil((wanted - above) / weight) : 1;
  return ties < 1 ? 1 : ties < 9e18 ? (int64_t)ties : INT64_MAX;
}

#endif
