/* vec_codes.h -- kernels/math/codes.h for many elements, on both levels: the same operations in the
 * same order. */
#ifndef LOCKSTEP_KERNELS_CPU_VEC_CODES_H
#define LOCKSTEP_KERNELS_CPU_VEC_CODES_H

#include "kernels/cpu/vec.h"
#include "kernels/math/codes.h"

enum { CODES_GROUP = 64 }; /* elements of a call of v_encode */

/* Numbers below are nearest to the same value. A NaN becomes it, too. */
static const float codes_least = 0x1p-23f;

/* Slopes and bases of codes_value by p of h = 2 q + 1 (positive: 2 q + 3), from p = 1 (positive: 2)
 * on; a slope is divided by 2^p, because a power of two moves from h to the slope without a
 * rounding. Rows are found by the lower bits of h's exponent, 127 + p: row 0 is p = 1. */
#define CODES_SLOPES_BY(p1)                                                                        \
  0.9e-6f / (p1), 0.9e-5f / 2 / (p1), 0.9e-4f / 4 / (p1), 0.9e-3f / 8 / (p1), 0.9e-2f / 16 / (p1), \
      0.9e-1f / 32 / (p1), 0.9f / 64 / (p1)
#define CODES_BASES_BY -0.8e-6f, -0.8e-5f, -0.8e-4f, -0.8e-3f, -0.8e-2f, -0.8e-1f, -0.8f

static const float codes_row_slopes[][LANES] = {{0, CODES_SLOPES_BY(4)}, {CODES_SLOPES_BY(2)}};

#if defined(__AVX512F__)

typedef struct Decoder {
  __m512 slope, base;
} Decoder;

ALWAYS_INLINE Decoder v_decoder(bool is_signed) {
  static const float bases[][LANES] = {{0, CODES_BASES_BY, 1}, {CODES_BASES_BY, 1}};
  return (Decoder){_mm512_loadu_ps(codes_row_slopes[is_signed]), _mm512_loadu_ps(bases[is_signed])};
}

ALWAYS_INLINE Vec v_decode(const Decoder *d, const uint8_t *codes, bool is_signed) {
  const __m512i code = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)codes));
  const __m512i number =
      is_signed ? _mm512_sub_epi32(code, _mm512_set1_epi32(CODES_SIGNED_ZERO)) : code;
  const __m512i q = is_signed ? _mm512_abs_epi32(number) : number;
  const __m512 h = _mm512_cvtepi32_ps(
      _mm512_add_epi32(_mm512_add_epi32(q, q), _mm512_set1_epi32(is_signed ? 1 : 3)));
  const __m512i row = _mm512_srli_epi32(_mm512_castps_si512(h), 23);
  const __m512 value =
      _mm512_fmadd_ps(_mm512_permutexvar_ps(row, d->slope), h, _mm512_permutexvar_ps(row, d->base));
  return is_signed ? v_copy_sign(value, _mm512_castsi512_ps(number)) : value;
}

/* A pair of binades, of which a map's numbers take twelve, has at most one threshold. `carry` added
 * to the bits of a number above it carries into the next pair, so rows of pairs are decades: the
 * row of a number is (bits + carry[bits >> 24]) >> 24, of which four bits count. With values
 * numbered from 1, the nearest to y is value ceil(y scale + shift), but none above `high`; in
 * decades 0 and 8 it is `shift` itself. */
enum { CODES_PAIR_SHIFT = 24 };
typedef struct Encoder {
  int32_t carry[LANES], high[LANES];
  float scale[LANES], shift[LANES];
} Encoder;

static inline Encoder v_encoder(const CodesMap *map) {
  Encoder e;
  uint32_t least, threshold[CODES_THRESHOLDS];
  memcpy(&least, &codes_least, sizeof least);
  memcpy(threshold, map->threshold, sizeof threshold);
  for (uint32_t pair = 0; pair < LANES; pair++) {
    const uint32_t low = ((least >> CODES_PAIR_SHIFT) + pair) << CODES_PAIR_SHIFT;
    const uint32_t next = low + (1u << CODES_PAIR_SHIFT), row = low >> CODES_PAIR_SHIFT & 15u;
    int decade = 0;
    e.carry[row] = 0;
    for (int k = 0; k < CODES_THRESHOLDS; k++) {
      decade += threshold[k] < low;
      if (threshold[k] >= low && threshold[k] < next)
        e.carry[row] = (int32_t)(next - 1 - threshold[k]);
    }
    const bool is_one = decade == 0 || decade == CODES_DECADES - 1;
    e.scale[row] = map->scale[decade];
    e.shift[row] = is_one ? map->low[decade] + 1 : map->shift[decade];
    e.high[row] = (int32_t)map->high[decade] + 1;
  }
  return e;
}

/* codes_nearest + 1, where `counts`; else 0. */
ALWAYS_INLINE __m512i v_nearest(const Encoder *e, __m512 y, __mmask16 counts) {
  const __m512i bits = _mm512_castps_si512(y);
  const __m512i carry = _mm512_permutexvar_epi32(_mm512_srli_epi32(bits, CODES_PAIR_SHIFT),
                                                 _mm512_loadu_si512(e->carry));
  const __m512i row = _mm512_srli_epi32(_mm512_add_epi32(bits, carry), CODES_PAIR_SHIFT);
  const __m512 at = _mm512_fmadd_ps(y, _mm512_permutexvar_ps(row, _mm512_loadu_ps(e->scale)),
                                    _mm512_permutexvar_ps(row, _mm512_loadu_ps(e->shift)));
  const __m512i number = _mm512_cvt_roundps_epi32(at, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  return _mm512_maskz_min_epi32(counts, number,
                                _mm512_permutexvar_epi32(row, _mm512_loadu_si512(e->high)));
}

/* Codes of CODES_GROUP elements. Differences saturate: there is no code of -1, and positive
 * numbers that do not count become 0. */
ALWAYS_INLINE void v_encode(const Encoder *e, uint8_t *codes, const float *from, float inverse,
                            bool is_signed) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512 least = _mm512_set1_ps(codes_least);
  __m512i number[4];
  uint64_t minus = 0;
  UNROLL for (int k = 0; k < 4; k++) {
    const __m512 x = _mm512_loadu_ps(from + k * LANES);
    const __m512 y = _mm512_mul_ps(x, _mm512_set1_ps(inverse));
    if (is_signed) {
      number[k] = v_nearest(e, _mm512_max_ps(_mm512_abs_ps(y), least), 0xffff);
      minus |= (uint64_t)_mm512_movepi32_mask(_mm512_castps_si512(x)) << (k * LANES);
    } else {
      number[k] = v_nearest(e, _mm512_max_ps(y, least),
                            _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ));
    }
  }
  __m512i low = _mm512_packs_epi32(number[0], number[1]);
  __m512i high = _mm512_packs_epi32(number[2], number[3]);
  if (!is_signed) {
    low = _mm512_subs_epu16(low, _mm512_set1_epi16(1));
    high = _mm512_subs_epu16(high, _mm512_set1_epi16(1));
  }
  const __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));
  if (!is_signed) {
    _mm512_storeu_si512(codes, bytes);
    return;
  }
  const __m512i up = _mm512_add_epi8(bytes, _mm512_set1_epi8(CODES_SIGNED_ZERO - 1));
  const __m512i zero = _mm512_set1_epi8((char)(CODES_SIGNED_ZERO + 1));
  _mm512_storeu_si512(codes, _mm512_mask_subs_epu8(up, minus, zero, bytes));
}

#else

typedef struct Decoder {
  __m256 slope, base;
} Decoder;

ALWAYS_INLINE Decoder v_decoder(bool is_signed) {
  static const float bases[][8] = {{0, CODES_BASES_BY}, {CODES_BASES_BY, 0}};
  return (Decoder){_mm256_loadu_ps(codes_row_slopes[is_signed]), _mm256_loadu_ps(bases[is_signed])};
}

/* The last code is the value 1, whose row another p has. */
ALWAYS_INLINE __m256 v_decode_half(const Decoder *d, const uint8_t *codes, bool is_signed) {
  const __m256i code = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)codes));
  const __m256i number =
      is_signed ? _mm256_sub_epi32(code, _mm256_set1_epi32(CODES_SIGNED_ZERO)) : code;
  const __m256i q = is_signed ? _mm256_abs_epi32(number) : number;
  const __m256 h = _mm256_cvtepi32_ps(
      _mm256_add_epi32(_mm256_add_epi32(q, q), _mm256_set1_epi32(is_signed ? 1 : 3)));
  const __m256i row = _mm256_srli_epi32(_mm256_castps_si256(h), 23);
  const __m256i is_last = _mm256_cmpeq_epi32(code, _mm256_set1_epi32(255));
  const __m256 value = _mm256_fmadd_ps(_mm256_permutevar8x32_ps(d->slope, row), h,
                                       _mm256_permutevar8x32_ps(d->base, row));
  const __m256 all = _mm256_blendv_ps(value, _mm256_set1_ps(1.0f), _mm256_castsi256_ps(is_last));
  return is_signed ? v_copy_sign_half(all, _mm256_castsi256_ps(number)) : all;
}

ALWAYS_INLINE Vec v_decode(const Decoder *d, const uint8_t *codes, bool is_signed) {
  return VEC_BOTH(v_decode_half(d, codes, is_signed), v_decode_half(d, codes + 8, is_signed));
}

/* By decade: with values numbered from 1, the nearest to y is value ceil(y scale + shift), but none
 * above `high`; in decade 0 it is `shift` itself. The last decade is the value after. Thresholds
 * are a tree: two levels in registers, and every other threshold in `leaf`. */
typedef struct Encoder {
  float middle, quarter[2], last, leaf[8], scale[8], shift[8];
  int32_t high[8];
} Encoder;

static inline Encoder v_encoder(const CodesMap *map) {
  const float *at = map->threshold;
  Encoder e = {.middle = at[3],
               .quarter = {at[1], at[5]},
               .last = at[CODES_THRESHOLDS - 1],
               .leaf = {at[0], 0, at[2], 0, at[4], 0, at[6]}};
  for (int k = 0; k < 8; k++) {
    e.scale[k] = map->scale[k];
    e.shift[k] = k == 0 ? map->low[k] + 1 : map->shift[k];
    e.high[k] = (int32_t)map->high[k] + 1;
  }
  return e;
}

/* codes_nearest + 1. */
ALWAYS_INLINE __m256i v_nearest_half(const Encoder *e, __m256 y) {
  const __m256 upper = _mm256_cmp_ps(y, _mm256_set1_ps(e->middle), _CMP_GT_OQ);
  const __m256 quarter =
      _mm256_blendv_ps(_mm256_set1_ps(e->quarter[0]), _mm256_set1_ps(e->quarter[1]), upper);
  const __m256 above = _mm256_cmp_ps(y, quarter, _CMP_GT_OQ);
  const __m256i four = _mm256_and_si256(_mm256_castps_si256(upper), _mm256_set1_epi32(4));
  const __m256i two = _mm256_and_si256(_mm256_castps_si256(above), _mm256_set1_epi32(2));
  const __m256i even = _mm256_or_si256(four, two);
  const __m256 leaf = _mm256_permutevar8x32_ps(_mm256_loadu_ps(e->leaf), even);
  const __m256i decade =
      _mm256_sub_epi32(even, _mm256_castps_si256(_mm256_cmp_ps(y, leaf, _CMP_GT_OQ)));
  const __m256 at = _mm256_fmadd_ps(y, _mm256_permutevar8x32_ps(_mm256_loadu_ps(e->scale), decade),
                                    _mm256_permutevar8x32_ps(_mm256_loadu_ps(e->shift), decade));
  const __m256i high =
      _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)e->high), decade);
  const __m256 last = _mm256_cmp_ps(y, _mm256_set1_ps(e->last), _CMP_GT_OQ);
  return _mm256_sub_epi32(_mm256_min_epi32(_mm256_cvttps_epi32(_mm256_ceil_ps(at)), high),
                          _mm256_castps_si256(last));
}

/* Codes of 32 elements. Differences saturate: there is no code of -1, and positive numbers that do
 * not count become 0. */
ALWAYS_INLINE void v_encode_half(const Encoder *e, uint8_t *codes, const float *from, float inverse,
                                 bool is_signed) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256 least = _mm256_set1_ps(codes_least), minus = _mm256_set1_ps(-0.0f);
  __m256i number[4], bits[4];
  UNROLL for (int k = 0; k < 4; k++) {
    const __m256 x = _mm256_loadu_ps(from + 8 * k);
    const __m256 y = _mm256_mul_ps(x, _mm256_set1_ps(inverse));
    bits[k] = _mm256_castps_si256(x);
    if (is_signed) {
      number[k] = v_nearest_half(e, _mm256_max_ps(_mm256_andnot_ps(minus, y), least));
    } else {
      const __m256 counts = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ);
      number[k] =
          _mm256_and_si256(v_nearest_half(e, _mm256_max_ps(y, least)), _mm256_castps_si256(counts));
    }
  }
  __m256i low = _mm256_packs_epi32(number[0], number[1]);
  __m256i high = _mm256_packs_epi32(number[2], number[3]);
  if (!is_signed) {
    low = _mm256_subs_epu16(low, _mm256_set1_epi16(1));
    high = _mm256_subs_epu16(high, _mm256_set1_epi16(1));
  }
  __m256i bytes = _mm256_packus_epi16(low, high);
  if (is_signed) {
    const __m256i signs = _mm256_packs_epi16(_mm256_packs_epi32(bits[0], bits[1]),
                                             _mm256_packs_epi32(bits[2], bits[3]));
    const __m256i up = _mm256_add_epi8(bytes, _mm256_set1_epi8(CODES_SIGNED_ZERO - 1));
    const __m256i zero = _mm256_set1_epi8((char)(CODES_SIGNED_ZERO + 1));
    bytes = _mm256_blendv_epi8(up, _mm256_subs_epu8(zero, bytes), signs);
  }
  _mm256_storeu_si256((__m256i *)codes, _mm256_permutevar8x32_epi32(bytes, order));
}

ALWAYS_INLINE void v_encode(const Encoder *e, uint8_t *codes, const float *from, float inverse,
                            bool is_signed) {
  v_encode_half(e, codes, from, inverse, is_signed);
  v_encode_half(e, codes + CODES_GROUP / 2, from + CODES_GROUP / 2, inverse, is_signed);
}

#endif

#endif
