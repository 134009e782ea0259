/* vec_two.h -- thirty-two adjacent elements of any storage as two Vecs, on both levels, for
 * updates. One shuffle packs both into 16 bits, and one comparison finds a NaN in either. */
#ifndef LOCKSTEP_KERNELS_CPU_VEC_TWO_H
#define LOCKSTEP_KERNELS_CPU_VEC_TWO_H

#include "kernels/cpu/vec.h"
#include "kernels/math/stochastic.h"

enum { TWO = 2 * LANES };

typedef struct Two {
  Vec at[2];
} Two;

/* ---- sixteen floats as bits: each level has the same functions */

#if defined(__AVX512F__)

typedef __m512i Bits;

/* Words of sixteen bits that shuffles take: the upper and lower halves of two registers; and the
 * halves of one, each of which becomes the upper half of a lane. */
typedef struct TwoOrder {
  uint16_t upper[TWO], lower[TWO], spread[2][TWO];
} TwoOrder;

#define TWO_EIGHT(x) (x), (x) + 2, (x) + 4, (x) + 6, (x) + 8, (x) + 10, (x) + 12, (x) + 14
#define TWO_WORDS(x)                                                                               \
  { TWO_EIGHT(x), TWO_EIGHT((x) + 16), TWO_EIGHT((x) + 32), TWO_EIGHT((x) + 48) }
#define TWO_FOUR(x) 0, (x), 0, (x) + 1, 0, (x) + 2, 0, (x) + 3
#define TWO_SPREAD(x)                                                                              \
  { TWO_FOUR(x), TWO_FOUR((x) + 4), TWO_FOUR((x) + 8), TWO_FOUR((x) + 12) }

static const TwoOrder two_order = {TWO_WORDS(1), TWO_WORDS(0), {TWO_SPREAD(0), TWO_SPREAD(LANES)}};

ALWAYS_INLINE Bits bits_of(Vec x) {
  return _mm512_castps_si512(x);
}
ALWAYS_INLINE Vec bits_floats(Bits x) {
  return _mm512_castsi512_ps(x);
}
ALWAYS_INLINE Bits bits_set(uint32_t x) {
  return _mm512_set1_epi32((int32_t)x);
}
ALWAYS_INLINE Bits bits_add(Bits a, Bits b) {
  return _mm512_add_epi32(a, b);
}
ALWAYS_INLINE Bits bits_and(Bits a, Bits b) {
  return _mm512_and_si512(a, b);
}
/* -a - b, rounded once. */
ALWAYS_INLINE Vec v_neg_sub(Vec a, Vec b) {
  return _mm512_fnmsub_ps(a, v_set(1.0f), b);
}
ALWAYS_INLINE Bits bits_unsigned(const uint16_t *p) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
}
ALWAYS_INLINE Bits bits_signed(const int16_t *p) {
  return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p));
}
/* The upper halves are the nearest bf16, ties to even; not of a NaN. */
ALWAYS_INLINE Bits bits_nearest(Bits x) {
  const __mmask16 is_odd = _mm512_test_epi32_mask(x, bits_set(0x10000));
  return _mm512_mask_add_epi32(bits_add(x, bits_set(0x7fff)), is_odd, x, bits_set(0x8000));
}
ALWAYS_INLINE bool two_has_nan(Two x) {
  return __builtin_expect(_mm512_cmp_ps_mask(x.at[0], x.at[1], _CMP_UNORD_Q) != 0, 0);
}
ALWAYS_INLINE void two_store_upper(void *p, Bits a, Bits b) {
  _mm512_storeu_si512(p, _mm512_permutex2var_epi16(a, _mm512_loadu_si512(two_order.upper), b));
}
ALWAYS_INLINE void two_store_lower(void *p, Bits a, Bits b) {
  _mm512_storeu_si512(p, _mm512_permutex2var_epi16(a, _mm512_loadu_si512(two_order.lower), b));
}
ALWAYS_INLINE Two two_load_bf16(const uint16_t *p) {
  const __m512i x = _mm512_loadu_si512(p);
  Two two;
  UNROLL for (int k = 0; k < 2; k++) two.at[k] = bits_floats(
      _mm512_maskz_permutexvar_epi16(0xaaaaaaaa, _mm512_loadu_si512(two_order.spread[k]), x));
  return two;
}

#else

typedef struct Bits {
  __m256i low, high;
} Bits;

#define BITS_BOTH(call_low, call_high)                                                             \
  (Bits) {                                                                                         \
    call_low, call_high                                                                            \
  }

ALWAYS_INLINE Bits bits_of(Vec x) {
  return BITS_BOTH(_mm256_castps_si256(x.low), _mm256_castps_si256(x.high));
}
ALWAYS_INLINE Vec bits_floats(Bits x) {
  return VEC_BOTH(_mm256_castsi256_ps(x.low), _mm256_castsi256_ps(x.high));
}
ALWAYS_INLINE Bits bits_set(uint32_t x) {
  return BITS_BOTH(_mm256_set1_epi32((int32_t)x), _mm256_set1_epi32((int32_t)x));
}
ALWAYS_INLINE Bits bits_add(Bits a, Bits b) {
  return BITS_BOTH(_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high));
}
ALWAYS_INLINE Bits bits_and(Bits a, Bits b) {
  return BITS_BOTH(_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high));
}
/* -a - b, rounded once. */
ALWAYS_INLINE Vec v_neg_sub(Vec a, Vec b) {
  const __m256 one = _mm256_set1_ps(1.0f);
  return VEC_BOTH(_mm256_fnmsub_ps(a.low, one, b.low), _mm256_fnmsub_ps(a.high, one, b.high));
}
ALWAYS_INLINE Bits bits_unsigned(const uint16_t *p) {
  return BITS_BOTH(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)),
                   _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p + 8))));
}
ALWAYS_INLINE Bits bits_signed(const int16_t *p) {
  return BITS_BOTH(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)),
                   _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(p + 8))));
}
ALWAYS_INLINE Bits bits_upper_to_lower(Bits x) {
  return BITS_BOTH(_mm256_srli_epi32(x.low, 16), _mm256_srli_epi32(x.high, 16));
}
/* The upper halves are the nearest bf16, ties to even; not of a NaN. */
ALWAYS_INLINE Bits bits_nearest(Bits x) {
  const Bits odd = bits_and(bits_upper_to_lower(x), bits_set(1));
  return bits_add(bits_add(x, bits_set(0x7fff)), odd);
}
ALWAYS_INLINE bool two_has_nan(Two x) {
  const __m256 low = _mm256_cmp_ps(x.at[0].low, x.at[1].low, _CMP_UNORD_Q);
  const __m256 high = _mm256_cmp_ps(x.at[0].high, x.at[1].high, _CMP_UNORD_Q);
  return __builtin_expect(_mm256_movemask_ps(_mm256_or_ps(low, high)) != 0, 0);
}
/* Lanes are below 2^16. */
ALWAYS_INLINE void bits_store_packed(uint16_t *p, Bits x) {
  _mm256_storeu_si256((__m256i *)p,
                      _mm256_permute4x64_epi64(_mm256_packus_epi32(x.low, x.high), 0xd8));
}
ALWAYS_INLINE void two_store_upper(void *p, Bits a, Bits b) {
  bits_store_packed(p, bits_upper_to_lower(a));
  bits_store_packed((uint16_t *)p + LANES, bits_upper_to_lower(b));
}
ALWAYS_INLINE void two_store_lower(void *p, Bits a, Bits b) {
  bits_store_packed(p, bits_and(a, bits_set(0xffff)));
  bits_store_packed((uint16_t *)p + LANES, bits_and(b, bits_set(0xffff)));
}
ALWAYS_INLINE Two two_load_bf16(const uint16_t *p) {
  return (Two){{v_load_bf16(p), v_load_bf16(p + LANES)}};
}

#endif

/* ---- storages */

ALWAYS_INLINE Two two_load(const void *base, int64_t element, DType dtype) {
  if (dtype == DTYPE_BF16) return two_load_bf16((const uint16_t *)base + element);
  return (Two){{v_get(base, element, dtype), v_get(base, element + LANES, dtype)}};
}

/* To nearest, as bf16_from_float. */
ALWAYS_INLINE void two_store(void *base, int64_t element, DType dtype, Two x) {
  if (dtype != DTYPE_BF16 || two_has_nan(x)) {
    v_put(base, element, dtype, x.at[0]);
    v_put(base, element + LANES, dtype, x.at[1]);
    return;
  }
  two_store_upper((uint16_t *)base + element, bits_nearest(bits_of(x.at[0])),
                  bits_nearest(bits_of(x.at[1])));
}

static __attribute__((noinline, unused)) void two_store_each(uint16_t *p, const float x[TWO],
                                                             const uint16_t draws[TWO]) {
  for (int i = 0; i < TWO; i++)
    p[i] = bf16_stochastic(x[i], draws[i]);
}

/* Rounds each element as bf16_stochastic does, by the draw of the same number. */
ALWAYS_INLINE void two_store_stochastic(uint16_t *p, Two x, const uint16_t *draws) {
  if (two_has_nan(x)) {
    float each[TWO];
    v_store(each, x.at[0]);
    v_store(each + LANES, x.at[1]);
    two_store_each(p, each, draws);
    return;
  }
  two_store_upper(p, bits_add(bits_of(x.at[0]), bits_unsigned(draws)),
                  bits_add(bits_of(x.at[1]), bits_unsigned(draws + LANES)));
}

/* split.h's two halves. */
ALWAYS_INLINE Two two_load_split(const uint16_t *high, const int16_t *low) {
  Two x = two_load_bf16(high);
  UNROLL for (int k = 0; k < 2; k++) x.at[k] =
      bits_floats(bits_add(bits_of(x.at[k]), bits_signed(low + k * LANES)));
  return x;
}
ALWAYS_INLINE void two_store_split(uint16_t *high, int16_t *low, Two x) {
  const Bits a = bits_of(x.at[0]), b = bits_of(x.at[1]), half = bits_set(0x8000);
  two_store_upper(high, bits_add(a, half), bits_add(b, half));
  two_store_lower(low, a, b);
}

#endif
