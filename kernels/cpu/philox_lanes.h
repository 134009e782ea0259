/* philox_lanes.h -- Philox for sixteen counters side by side; the loops below are plain C that
 * compilers turn into vector code. */
#ifndef LOCKSTEP_KERNELS_CPU_PHILOX_LANES_H
#define LOCKSTEP_KERNELS_CPU_PHILOX_LANES_H

#include "kernels/cpu/vec.h"
#include "kernels/philox.h"

enum { PHILOX_ELEMENTS = 4 * LANES };

/* word[w][l]: word w of the block whose low counter is counter[l]. */
ALWAYS_INLINE void philox_lanes(uint64_t key, uint64_t counter_high, const uint64_t counter[LANES],
                                uint32_t word[4][LANES]) {
  uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
  uint32_t high0 = (uint32_t)counter_high, high1 = (uint32_t)(counter_high >> 32);
  for (int l = 0; l < LANES; l++) {
    word[0][l] = (uint32_t)counter[l];
    word[1][l] = (uint32_t)(counter[l] >> 32);
    word[2][l] = high0;
    word[3][l] = high1;
  }
  for (int round = 0; round < 10; round++) {
    for (int l = 0; l < LANES; l++) {
      uint64_t product0 = (uint64_t)0xD2511F53u * word[0][l];
      uint64_t product1 = (uint64_t)0xCD9E8D57u * word[2][l];
      word[0][l] = (uint32_t)(product1 >> 32) ^ word[1][l] ^ key0;
      word[1][l] = (uint32_t)product1;
      word[2][l] = (uint32_t)(product0 >> 32) ^ word[3][l] ^ key1;
      word[3][l] = (uint32_t)product0;
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/* factor[e] of elements first .. first+63: 0 where dropped, else `scale`. `first` is a multiple of
 * 4. */
ALWAYS_INLINE void philox_keep_factors(uint64_t key, uint64_t step, uint64_t first,
                                       uint32_t threshold, float scale,
                                       float factor[PHILOX_ELEMENTS]) {
  uint64_t counter[LANES];
  uint32_t word[4][LANES];
  for (int l = 0; l < LANES; l++)
    counter[l] = first / 4 + (uint64_t)l;
  philox_lanes(key, step, counter, word);
  for (int l = 0; l < LANES; l++)
    for (int w = 0; w < 4; w++)
      factor[4 * l + w] = word[w][l] >= threshold ? scale : 0.0f;
}

/* x * factor, and 0 where factor is 0 whatever x is. */
ALWAYS_INLINE Vec v_keep_product(Vec x, Vec factor) {
  return v_less_select(v_set(0.0f), factor, v_mul(x, factor), v_set(0.0f));
}

#endif
