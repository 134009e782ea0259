/* philox_draws.h -- stochastic.h's draws of 64 adjacent elements: eight Philox blocks at a time,
 * some rounds at a time, so that a caller with other work has it between.
 *
 * Blocks of a run differ in the lower counter word c0 alone. So half of the first round, which
 * multiplies c2, and half of the second, which multiplies what that gave, are numbers of the
 * stream:
 *
 *     round 1   c0' = high(m1 c2) ^ c1 ^ k       c1' = low(m1 c2)             constants
 *               c2' = high(m0 c0) ^ c3 ^ k'      c3' = low(m0 c0)             of each block
 *     round 2   c0" = high(m1 c2') ^ c1' ^ k     c1" = low(m1 c2')            of each block
 *               c2" = high(m0 c0') ^ c3' ^ k'    c3" = low(m0 c0')            c3': of each block */
#ifndef LOCKSTEP_KERNELS_CPU_PHILOX_DRAWS_H
#define LOCKSTEP_KERNELS_CPU_PHILOX_DRAWS_H

#include "kernels/cpu/vec.h"
#include "kernels/math/philox.h"
#include "kernels/math/stochastic.h"

enum { PHILOX_DRAWS = 64, PHILOX_RUNS = 4, PHILOX_ROUNDS = 10, PHILOX_ROUNDS_BEGUN = 2 };

/* The blocks of one key and upper counter: the two words that each round adds by xor; and what the
 * first two rounds add to the words that are not constant, where c1 is 0. */
typedef struct PhiloxStream {
  uint64_t key, counter_high;
  uint64_t at[PHILOX_ROUNDS][2];
  uint64_t first_xor, second_xor[2], second_c3;
} PhiloxStream;

static inline PhiloxStream philox_stream(uint64_t key, uint64_t counter_high) {
  PhiloxStream s = {.key = key, .counter_high = counter_high};
  uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
  for (int round = 0; round < PHILOX_ROUNDS; round++) {
    s.at[round][0] = key0;
    s.at[round][1] = key1;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  const uint64_t product1 = (uint64_t)0xCD9E8D57u * (uint32_t)counter_high;
  const uint64_t product0 = (uint64_t)0xD2511F53u * ((uint32_t)(product1 >> 32) ^ s.at[0][0]);
  s.first_xor = counter_high >> 32 ^ s.at[0][1];
  s.second_xor[0] = (uint32_t)product1 ^ s.at[1][0];
  s.second_xor[1] = product0 >> 32 ^ s.at[1][1];
  s.second_c3 = (uint32_t)product0;
  return s;
}

#if defined(__AVX512F__)

/* Words are in the low halves of 64-bit lanes; the high halves are left over. */
typedef struct PhiloxRun {
  __m512i word[4];
} PhiloxRun;

ALWAYS_INLINE __m512i philox_word(uint64_t x) {
  return _mm512_set1_epi64((int64_t)x);
}

ALWAYS_INLINE void philox_rounds(PhiloxRun *run, const PhiloxStream *s, int first, int end) {
  __m512i *w = run->word;
  UNROLL for (int round = first; round < end; round++) {
    const __m512i product0 = _mm512_mul_epu32(philox_word(0xD2511F53), w[0]);
    const __m512i product1 = _mm512_mul_epu32(philox_word(0xCD9E8D57), w[2]);
    w[0] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), w[1],
                                     philox_word(s->at[round][0]), 0x96);
    w[1] = product1;
    w[2] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), w[3],
                                     philox_word(s->at[round][1]), 0x96);
    w[3] = product0;
  }
}

/* The blocks from `first` on, after PHILOX_ROUNDS_BEGUN rounds. */
ALWAYS_INLINE PhiloxRun philox_begin(const PhiloxStream *s, uint64_t first) {
  /* Lanes 2i and 2i + 1 take blocks i and 4 + i, so that unpacking leaves the words in order. */
  const __m512i counter =
      _mm512_add_epi64(philox_word(first), _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
  PhiloxRun run = {{counter, _mm512_srli_epi64(counter, 32), philox_word(s->counter_high),
                    philox_word(s->counter_high >> 32)}};
  if (__builtin_expect((first + 7) >> 32 != 0, 0)) {
    philox_rounds(&run, s, 0, PHILOX_ROUNDS_BEGUN);
    return run;
  }
  const __m512i product0 = _mm512_mul_epu32(philox_word(0xD2511F53), counter);
  const __m512i c2 = _mm512_xor_si512(_mm512_srli_epi64(product0, 32), philox_word(s->first_xor));
  const __m512i product1 = _mm512_mul_epu32(philox_word(0xCD9E8D57), c2);
  run.word[0] = _mm512_xor_si512(_mm512_srli_epi64(product1, 32), philox_word(s->second_xor[0]));
  run.word[1] = product1;
  run.word[2] = _mm512_xor_si512(product0, philox_word(s->second_xor[1]));
  run.word[3] = philox_word(s->second_c3);
  return run;
}

ALWAYS_INLINE void philox_end(const PhiloxRun *run, uint16_t draws[PHILOX_DRAWS]) {
  const __m512i *w = run->word;
  const __m512i front = _mm512_mask_shuffle_epi32(w[0], 0xaaaa, w[1], _MM_PERM_CCAA);
  const __m512i back = _mm512_mask_shuffle_epi32(w[2], 0xaaaa, w[3], _MM_PERM_CCAA);
  _mm512_storeu_si512(draws, _mm512_unpacklo_epi64(front, back));
  _mm512_storeu_si512(draws + PHILOX_DRAWS / 2, _mm512_unpackhi_epi64(front, back));
}

#else

typedef struct PhiloxRun {
  __m256i word[2][4];
} PhiloxRun;

ALWAYS_INLINE __m256i philox_word(uint64_t x) {
  return _mm256_set1_epi64x((int64_t)x);
}

ALWAYS_INLINE void philox_rounds(PhiloxRun *run, const PhiloxStream *s, int first, int end) {
  UNROLL for (int round = first; round < end; round++) UNROLL for (int half = 0; half < 2; half++) {
    __m256i *w = run->word[half];
    const __m256i product0 = _mm256_mul_epu32(philox_word(0xD2511F53), w[0]);
    const __m256i product1 = _mm256_mul_epu32(philox_word(0xCD9E8D57), w[2]);
    w[0] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product1, 32), w[1]),
                            philox_word(s->at[round][0]));
    w[1] = product1;
    w[2] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product0, 32), w[3]),
                            philox_word(s->at[round][1]));
    w[3] = product0;
  }
}

/* The blocks from `first` on, after PHILOX_ROUNDS_BEGUN rounds. */
ALWAYS_INLINE PhiloxRun philox_begin(const PhiloxStream *s, uint64_t first) {
  /* Lanes 0 to 3 take blocks 0, 2, 1, 3 of four, so that unpacking leaves the words in order. */
  const __m256i order = _mm256_setr_epi64x(0, 2, 1, 3);
  const bool is_far = (first + 7) >> 32 != 0;
  PhiloxRun run;
  UNROLL for (int half = 0; half < 2; half++) {
    __m256i *w = run.word[half];
    w[0] = _mm256_add_epi64(philox_word(first + 4 * (uint64_t)half), order);
    w[1] = _mm256_srli_epi64(w[0], 32);
    w[2] = philox_word(s->counter_high);
    w[3] = philox_word(s->counter_high >> 32);
    if (__builtin_expect(is_far, 0)) continue;
    const __m256i product0 = _mm256_mul_epu32(philox_word(0xD2511F53), w[0]);
    const __m256i c2 = _mm256_xor_si256(_mm256_srli_epi64(product0, 32), philox_word(s->first_xor));
    const __m256i product1 = _mm256_mul_epu32(philox_word(0xCD9E8D57), c2);
    w[0] = _mm256_xor_si256(_mm256_srli_epi64(product1, 32), philox_word(s->second_xor[0]));
    w[1] = product1;
    w[2] = _mm256_xor_si256(product0, philox_word(s->second_xor[1]));
    w[3] = philox_word(s->second_c3);
  }
  if (__builtin_expect(is_far, 0)) philox_rounds(&run, s, 0, PHILOX_ROUNDS_BEGUN);
  return run;
}

ALWAYS_INLINE void philox_end(const PhiloxRun *run, uint16_t draws[PHILOX_DRAWS]) {
  UNROLL for (int half = 0; half < 2; half++) {
    const __m256i *w = run->word[half];
    const __m256i front = _mm256_blend_epi32(w[0], _mm256_slli_epi64(w[1], 32), 0xaa);
    const __m256i back = _mm256_blend_epi32(w[2], _mm256_slli_epi64(w[3], 32), 0xaa);
    _mm256_storeu_si256((__m256i *)(draws + 32 * half), _mm256_unpacklo_epi64(front, back));
    _mm256_storeu_si256((__m256i *)(draws + 32 * half + 16), _mm256_unpackhi_epi64(front, back));
  }
}

#endif

/* The draws of `runs` times eight blocks from `first` on, in order. Runs go side by side, because
 * the rounds of one wait for one another. */
ALWAYS_INLINE void philox_draws(const PhiloxStream *s, uint64_t first, int runs, uint16_t *draws) {
  PhiloxRun run[PHILOX_RUNS];
  UNROLL for (int r = 0; r < runs; r++) run[r] = philox_begin(s, first + 8 * (uint64_t)r);
  UNROLL for (int round = PHILOX_ROUNDS_BEGUN; round < PHILOX_ROUNDS; round++) //
      UNROLL for (int r = 0; r < runs; r++) philox_rounds(&run[r], s, round, round + 1);
  UNROLL for (int r = 0; r < runs; r++) philox_end(&run[r], draws + PHILOX_DRAWS * r);
}

#endif
