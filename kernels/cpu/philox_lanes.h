/* philox_lanes.h -- Philox for sixteen counters side by side. */
#ifndef LOCKSTEP_KERNELS_CPU_PHILOX_LANES_H
#define LOCKSTEP_KERNELS_CPU_PHILOX_LANES_H

#include "kernels/cpu/vec.h"
#include "kernels/math/philox.h"

enum { PHILOX_ELEMENTS = 4 * LANES };

#if defined(__AVX512F__)

/* Words of eight blocks, in the low halves of 64-bit lanes; the high halves are left over. */
ALWAYS_INLINE void philox_eight(uint64_t key, uint64_t counter_high, __m512i counter,
                                __m512i word[4]) {
  uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
  const __m512i multiplier0 = _mm512_set1_epi64(0xD2511F53);
  const __m512i multiplier1 = _mm512_set1_epi64(0xCD9E8D57);
  word[0] = counter;
  word[1] = _mm512_srli_epi64(counter, 32);
  word[2] = _mm512_set1_epi64((int64_t)counter_high);
  word[3] = _mm512_set1_epi64((int64_t)(counter_high >> 32));
  UNROLL for (int round = 0; round < 10; round++) {
    __m512i product0 = _mm512_mul_epu32(multiplier0, word[0]);
    __m512i product1 = _mm512_mul_epu32(multiplier1, word[2]);
    __m512i high0 = _mm512_srli_epi64(product0, 32), high1 = _mm512_srli_epi64(product1, 32);
    word[0] = _mm512_ternarylogic_epi64(high1, word[1], _mm512_set1_epi64(key0), 0x96); /* xor */
    word[1] = product1;
    word[2] = _mm512_ternarylogic_epi64(high0, word[3], _mm512_set1_epi64(key1), 0x96);
    word[3] = product0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/* word[w][l]: word w of the block whose low counter is counter[l]. */
ALWAYS_INLINE void philox_lanes(uint64_t key, uint64_t counter_high, const uint64_t counter[LANES],
                                uint32_t word[4][LANES]) {
  for (int half = 0; half < 2; half++) {
    __m512i eight[4];
    philox_eight(key, counter_high, _mm512_loadu_si512(counter + 8 * half), eight);
    for (int w = 0; w < 4; w++)
      _mm256_storeu_si256((__m256i *)&word[w][8 * half], _mm512_cvtepi64_epi32(eight[w]));
  }
}

/* factor[e] of elements first .. first+63: 0 where dropped, else `scale`; first % 4 is 0. */
ALWAYS_INLINE void philox_keep_factors(uint64_t key, uint64_t step, uint64_t first,
                                       uint32_t threshold, float scale,
                                       float factor[PHILOX_ELEMENTS]) {
  const __m512i low = _mm512_set1_epi64(0xffffffff);
  __m512i limit = _mm512_set1_epi32((int32_t)threshold);
  __m512 kept = _mm512_set1_ps(scale);
  for (int half = 0; half < 2; half++) {
    /* Lanes 2i and 2i + 1 take blocks i and 4 + i, so that unpacking leaves the words in order. */
    __m512i counter = _mm512_add_epi64(_mm512_set1_epi64((int64_t)(first / 4) + 8 * half),
                                       _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
    __m512i word[4];
    philox_eight(key, step, counter, word);
    __m512i front = _mm512_or_si512(_mm512_and_si512(word[0], low), _mm512_slli_epi64(word[1], 32));
    __m512i back = _mm512_or_si512(_mm512_and_si512(word[2], low), _mm512_slli_epi64(word[3], 32));
    __mmask16 keep0 = _mm512_cmpge_epu32_mask(_mm512_unpacklo_epi64(front, back), limit);
    __mmask16 keep1 = _mm512_cmpge_epu32_mask(_mm512_unpackhi_epi64(front, back), limit);
    _mm512_storeu_ps(factor + 32 * half, _mm512_maskz_mov_ps(keep0, kept));
    _mm512_storeu_ps(factor + 32 * half + 16, _mm512_maskz_mov_ps(keep1, kept));
  }
}

#else

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

#endif

/* x * factor, and 0 where factor is 0 whatever x is. */
ALWAYS_INLINE Vec v_keep_product(Vec x, Vec factor) {
  return v_less_select(v_set(0.0f), factor, v_mul(x, factor), v_set(0.0f));
}

#endif
