/* philox.h -- random numbers that depend on what they are drawn for, not on which rank or thread
 * draws them.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011).
 * Element i of a tensor uses lane i % 4 of the block whose low counter is i / 4, so any rank can
 * draw any part of it.
 *
 * The key is philox_mix(kernel_seed(args), args->key). The high counter is 0 for initial values and
 * kernel_step(args), 1 in the first step, for dropout. */
#ifndef LOCKSTEP_PHILOX_H
#define LOCKSTEP_PHILOX_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/inline.h"

/* The key's and both counters' lower halves come first, as in the paper's arrays of words. */
KERNEL_INLINE void philox4(uint64_t seed_key, uint64_t counter_high, uint64_t counter_low,
                           uint32_t out[4]) {
  uint32_t key0 = (uint32_t)seed_key, key1 = (uint32_t)(seed_key >> 32);
  uint32_t c0 = (uint32_t)counter_low, c1 = (uint32_t)(counter_low >> 32);
  uint32_t c2 = (uint32_t)counter_high, c3 = (uint32_t)(counter_high >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t product0 = (uint64_t)0xD2511F53u * c0;
    uint64_t product1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(product1 >> 32) ^ c1 ^ key0;
    c1 = (uint32_t)product1;
    c2 = (uint32_t)(product0 >> 32) ^ c3 ^ key1;
    c3 = (uint32_t)product0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

KERNEL_INLINE uint64_t philox_splitmix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* One key from two; mix(a, b) and mix(b, a) are unrelated. */
KERNEL_INLINE uint64_t philox_mix(uint64_t a, uint64_t b) {
  return philox_splitmix(philox_splitmix(a) + b);
}

/* [0, 1) in steps of 2^-24: exact in f32 too. */
KERNEL_INLINE double philox_uniform(uint32_t word) {
  return (double)(word >> 8) * 0x1p-24;
}

/* Box-Muller: lanes 0, 1 give normals 0, 1 and lanes 2, 3 give normals 2, 3. The radius draws from
 * (0, 1]. */
KERNEL_INLINE void philox_normal4(const uint32_t word[4], double out[4]) {
  for (int pair = 0; pair < 4; pair += 2) {
    double radius = sqrt(-2.0 * log(((double)word[pair] + 1.0) * 0x1p-32));
    double angle = 6.283185307179586476925286766559 * ((double)word[pair + 1] * 0x1p-32);
    out[pair] = radius * cos(angle);
    out[pair + 1] = radius * sin(angle);
  }
}

/* An element is dropped when its word is below the threshold: a share of round(rate * 2^32) / 2^32.
 */
KERNEL_INLINE uint32_t philox_threshold(double rate) {
  double threshold = rate * 0x1p32 + 0.5;
  return threshold >= 0x1p32 ? UINT32_MAX : (uint32_t)threshold;
}

KERNEL_INLINE bool philox_keep(uint64_t seed_key, int64_t step, int64_t element,
                               uint32_t threshold) {
  uint32_t word[4];
  philox4(seed_key, (uint64_t)step, (uint64_t)element / 4, word);
  return word[element % 4] >= threshold;
}

#endif
