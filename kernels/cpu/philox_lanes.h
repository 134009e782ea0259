/* philox_lanes.h -- Philox for sixteen counters side by side. */
#ifndef LOCKSTEP_KERNELS_CPU_PHILOX_LANES_H
#define LOCKSTEP_KERNELS_CPU_PHILOX_LANES_H

#include "kernels/cpu/vec.h"
#include "kernels/math/philox.h"

enum { PHILOX_ELEMENTS = 4 * LANES, PHILOX_DRAWS = 64, PHILOX_RUNS = 4, PHILOX_ROUNDS = 10 };

/* The two words that each round adds by xor, of one key. */
typedef struct PhiloxKeys {
  uint64_t at[PHILOX_ROUNDS][2];
} PhiloxKeys;

ALWAYS_INLINE PhiloxKeys philox_keys(uint64_t key) {
  PhiloxKeys keys;
  uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
  for (int round = 0; round < PHILOX_ROUNDS; round++) {
    keys.at[round][0] = key0;
    keys.at[round][1] = key1;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return keys;
}

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

/* Eight blocks from `first` on, some rounds at a time; a caller with other work has it between. */
typedef struct PhiloxRun {
  __m512i word[4];
} PhiloxRun;

ALWAYS_INLINE PhiloxRun philox_begin(uint64_t counter_high, uint64_t first) {
  /* Lanes 2i and 2i + 1 take blocks i and 4 + i, so that unpacking leaves the words in order. */
  const __m512i counter = _mm512_add_epi64(_mm512_set1_epi64((int64_t)first),
                                           _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
  return (PhiloxRun){{counter, _mm512_srli_epi64(counter, 32),
                      _mm512_set1_epi64((int64_t)counter_high),
                      _mm512_set1_epi64((int64_t)(counter_high >> 32))}};
}

ALWAYS_INLINE void philox_rounds(PhiloxRun *run, const PhiloxKeys *keys, int first, int end) {
  const __m512i multiplier0 = _mm512_set1_epi64(0xD2511F53);
  const __m512i multiplier1 = _mm512_set1_epi64(0xCD9E8D57);
  __m512i *w = run->word;
  UNROLL for (int round = first; round < end; round++) {
    const __m512i product0 = _mm512_mul_epu32(multiplier0, w[0]);
    const __m512i product1 = _mm512_mul_epu32(multiplier1, w[2]);
    w[0] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), w[1],
                                     _mm512_set1_epi64((int64_t)keys->at[round][0]), 0x96);
    w[1] = product1;
    w[2] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), w[3],
                                     _mm512_set1_epi64((int64_t)keys->at[round][1]), 0x96);
    w[3] = product0;
  }
}

ALWAYS_INLINE void philox_end(const PhiloxRun *run, uint16_t draws[PHILOX_DRAWS]) {
  const __m512i low = _mm512_set1_epi64(0xffffffff), *w = run->word;
  const __m512i front = _mm512_or_si512(_mm512_and_si512(w[0], low), _mm512_slli_epi64(w[1], 32));
  const __m512i back = _mm512_or_si512(_mm512_and_si512(w[2], low), _mm512_slli_epi64(w[3], 32));
  _mm512_storeu_si512(draws, _mm512_unpacklo_epi64(front, back));
  _mm512_storeu_si512(draws + PHILOX_DRAWS / 2, _mm512_unpackhi_epi64(front, back));
}

/* The 16-bit draws of `runs` times eight blocks from `first` on, in order: eight a block
 * (stochastic.h). Runs go side by side, because the rounds of one wait for one another. */
ALWAYS_INLINE void philox_draws(uint64_t key, uint64_t counter_high, uint64_t first, int runs,
                                uint16_t *draws) {
  const PhiloxKeys keys = philox_keys(key);
  PhiloxRun run[PHILOX_RUNS];
  UNROLL for (int r = 0; r < runs; r++) run[r] =
      philox_begin(counter_high, first + 8 * (uint64_t)r);
  UNROLL for (int round = 0; round < PHILOX_ROUNDS; round++) UNROLL for (int r = 0; r < runs; r++)
      philox_rounds(&run[r], &keys, round, round + 1);
  UNROLL for (int r = 0; r < runs; r++) philox_end(&run[r], draws + PHILOX_DRAWS * r);
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

/* Eight blocks from `first` on, some rounds at a time; a caller with other work has it between. */
typedef struct PhiloxRun {
  __m256i word[2][4];
} PhiloxRun;

ALWAYS_INLINE PhiloxRun philox_begin(uint64_t counter_high, uint64_t first) {
  /* Lanes 0 to 3 take blocks 0, 2, 1, 3 of four, so that unpacking leaves the words in order. */
  const __m256i order = _mm256_setr_epi64x(0, 2, 1, 3);
  PhiloxRun run;
  UNROLL for (int half = 0; half < 2; half++) {
    __m256i *w = run.word[half];
    w[0] = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)(first + 4 * (uint64_t)half)), order);
    w[1] = _mm256_srli_epi64(w[0], 32);
    w[2] = _mm256_set1_epi64x((int64_t)counter_high);
    w[3] = _mm256_set1_epi64x((int64_t)(counter_high >> 32));
  }
  return run;
}

ALWAYS_INLINE void philox_rounds(PhiloxRun *run, const PhiloxKeys *keys, int first, int end) {
  const __m256i multiplier0 = _mm256_set1_epi64x(0xD2511F53);
  const __m256i multiplier1 = _mm256_set1_epi64x(0xCD9E8D57);
  UNROLL for (int round = first; round < end; round++) {
    const __m256i xor0 = _mm256_set1_epi64x((int64_t)keys->at[round][0]);
    const __m256i xor1 = _mm256_set1_epi64x((int64_t)keys->at[round][1]);
    UNROLL for (int half = 0; half < 2; half++) {
      __m256i *w = run->word[half];
      __m256i product0 = _mm256_mul_epu32(multiplier0, w[0]);
      __m256i product1 = _mm256_mul_epu32(multiplier1, w[2]);
      w[0] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product1, 32), w[1]), xor0);
      w[1] = product1;
      w[2] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product0, 32), w[3]), xor1);
      w[3] = product0;
    }
  }
}

ALWAYS_INLINE void philox_end(const PhiloxRun *run, uint16_t draws[PHILOX_DRAWS]) {
  const __m256i low = _mm256_set1_epi64x(0xffffffff);
  UNROLL for (int half = 0; half < 2; half++) {
    const __m256i *w = run->word[half];
    __m256i front = _mm256_or_si256(_mm256_and_si256(w[0], low), _mm256_slli_epi64(w[1], 32));
    __m256i back = _mm256_or_si256(_mm256_and_si256(w[2], low), _mm256_slli_epi64(w[3], 32));
    _mm256_storeu_si256((__m256i *)(draws + 32 * half), _mm256_unpacklo_epi64(front, back));
    _mm256_storeu_si256((__m256i *)(draws + 32 * half + 16), _mm256_unpackhi_epi64(front, back));
  }
}

/* The 16-bit draws of `runs` times eight blocks from `first` on, in order: eight a block
 * (stochastic.h). */
ALWAYS_INLINE void philox_draws(uint64_t key, uint64_t counter_high, uint64_t first, int runs,
                                uint16_t *draws) {
  const PhiloxKeys keys = philox_keys(key);
  for (int r = 0; r < runs; r++) {
    PhiloxRun run = philox_begin(counter_high, first + 8 * (uint64_t)r);
    philox_rounds(&run, &keys, 0, PHILOX_ROUNDS);
    philox_end(&run, draws + PHILOX_DRAWS * r);
  }
}

#endif

/* x * factor, and 0 where factor is 0 whatever x is. */
ALWAYS_INLINE Vec v_keep_product(Vec x, Vec factor) {
  return v_less_select(v_set(0.0f), factor, v_mul(x, factor), v_set(0.0f));
}

#endif
