/* vec_codes.h -- kernels/math/codes.h for sixteen elements, on both levels: the same operations in
 * the same order. */
#ifndef LOCKSTEP_KERNELS_CPU_VEC_CODES_H
#define LOCKSTEP_KERNELS_CPU_VEC_CODES_H

#include "kernels/cpu/vec.h"
#include "kernels/math/codes.h"

#if defined(__AVX512F__)

/* Sixteen rows of a table in a register. Rows are found by the lower bits of an exponent as floats
 * store it: 127 + p, of which four bits count up from row 0 at p = 1. */
typedef struct Decoder {
  __m512 slope, base;
} Decoder;

/* By p, of h = 2 q + 1 (positive: 2 q + 3): codes_value's slope / 2^p and base. A power of two
 * moves from h to the slope without a rounding. */
ALWAYS_INLINE Decoder v_decoder(bool is_signed) {
  static const float slopes[][LANES] = {{0, 0.9e-6f / 4, 0.9e-5f / 8, 0.9e-4f / 16, 0.9e-3f / 32,
                                         0.9e-2f / 64, 0.9e-1f / 128, 0.9f / 256},
                                        {0.9e-6f / 2, 0.9e-5f / 4, 0.9e-4f / 8, 0.9e-3f / 16,
                                         0.9e-2f / 32, 0.9e-1f / 64, 0.9f / 128}};
  static const float bases[][LANES] = {
      {0, -0.8e-6f, -0.8e-5f, -0.8e-4f, -0.8e-3f, -0.8e-2f, -0.8e-1f, -0.8f, 1},
      {-0.8e-6f, -0.8e-5f, -0.8e-4f, -0.8e-3f, -0.8e-2f, -0.8e-1f, -0.8f, 1}};
  return (Decoder){_mm512_loadu_ps(slopes[is_signed]), _mm512_loadu_ps(bases[is_signed])};
}

ALWAYS_INLINE Vec v_decode(const Decoder *d, const uint8_t *codes, bool is_signed) {
  const __m512i code = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)codes));
  const __m512i number =
      is_signed ? _mm512_sub_epi32(code, _mm512_set1_epi32(CODES_SIGNED_ZERO)) : code;
  const __m512 q = _mm512_cvtepi32_ps(is_signed ? _mm512_abs_epi32(number) : number);
  const __m512 h = _mm512_fmadd_ps(q, _mm512_set1_ps(2), _mm512_set1_ps(is_signed ? 1 : 3));
  const __m512i row = _mm512_srli_epi32(_mm512_castps_si512(h), 23);
  const __m512 value =
      _mm512_fmadd_ps(_mm512_permutexvar_ps(row, d->slope), h, _mm512_permutexvar_ps(row, d->base));
  return is_signed ? v_copy_sign(value, _mm512_castsi512_ps(number)) : value;
}

/* A binade has at most one threshold, so a number's decade is one lookup and one comparison. Rows
 * are exponents from 105 (2^-22) to 127, by their lower five bits. A binade without a threshold has
 * one that all its numbers are above. */
typedef struct Binades {
  float threshold[2 * LANES];
  int32_t decade[2 * LANES];
} Binades;

/* `fourth`: the binade of the fourth threshold, which is not the same in both maps. */
#define BINADES_AT(fourth, t0, t1, t2, t3, t4, t5, t6, t7)                                         \
  {                                                                                                \
    {[9] = (t0),  [11] = (t1), [14] = (t2), [fourth] = (t3),                                       \
     [21] = (t4), [24] = (t5), [27] = (t6), [30] = (t7)},                                          \
    {                                                                                              \
      [11] = 1, 1, 1, 2, 2, 2, (fourth) == 17 ? 3 : 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7    \
    }                                                                                              \
  }
#define BINADES(...) BINADES_AT(__VA_ARGS__)

/* By decade: the number of the value nearest to y is ceil(y scale + shift), and `high` at most.
 * Values are numbered from 1; in decades 0 and 8 the number is `shift` itself. */
typedef struct Encoder {
  __m512 threshold[2], scale, shift;
  __m512i decade[2], high;
} Encoder;

ALWAYS_INLINE Encoder v_encoder(const CodesMap *map, bool is_signed) {
  static const Binades binades[] = {BINADES(17, CODES_THRESHOLDS_OF(2.0, 0.0)),
                                    BINADES(18, CODES_THRESHOLDS_OF(1.0, 0.275e-6))};
  const Binades *at = &binades[is_signed];
  const __mmask16 all = lanes_below(CODES_DECADES), last = (__mmask16)(1u << (CODES_DECADES - 1));
  const __m512 one = _mm512_set1_ps(1), low = _mm512_maskz_loadu_ps(all, map->low);
  const __m512 shift = _mm512_maskz_loadu_ps(all, map->shift);
  const __m512 high = _mm512_maskz_loadu_ps(all, map->high);
  return (Encoder){
      .threshold = {_mm512_loadu_ps(at->threshold), _mm512_loadu_ps(at->threshold + LANES)},
      .decade = {_mm512_loadu_si512(at->decade), _mm512_loadu_si512(at->decade + LANES)},
      .scale = _mm512_maskz_loadu_ps(all, map->scale),
      .shift = _mm512_mask_add_ps(shift, last | 1, low, one),
      .high = _mm512_cvttps_epi32(_mm512_add_ps(high, one))};
}

/* 1 + the numbers of values that are nearest to y, codes_nearest, which a NaN leaves below 1. */
ALWAYS_INLINE __m512i v_nearest(const Encoder *e, __m512 y) {
  const __m512i bits = _mm512_max_epi32(_mm512_castps_si512(y), _mm512_set1_epi32(105 << 23));
  const __m512i row = _mm512_srli_epi32(bits, 23);
  const __m512 threshold = _mm512_permutex2var_ps(e->threshold[0], row, e->threshold[1]);
  const __mmask16 above = _mm512_cmp_ps_mask(y, threshold, _CMP_GT_OQ);
  __m512i decade = _mm512_permutex2var_epi32(e->decade[0], row, e->decade[1]);
  decade = _mm512_mask_add_epi32(decade, above, decade, _mm512_set1_epi32(1));
  const __m512 at = _mm512_fmadd_ps(y, _mm512_permutexvar_ps(decade, e->scale),
                                    _mm512_permutexvar_ps(decade, e->shift));
  const __m512i number = _mm512_cvt_roundps_epi32(at, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  return _mm512_min_epi32(number, _mm512_permutexvar_epi32(decade, e->high));
}

ALWAYS_INLINE void v_encode(const Encoder *e, uint8_t *codes, Vec x, float inverse,
                            bool is_signed) {
  const __m512i one = _mm512_set1_epi32(1);
  const __m512 y = _mm512_mul_ps(x, _mm512_set1_ps(inverse));
  __m512i number = v_nearest(e, is_signed ? _mm512_abs_ps(y) : y);
  if (is_signed) {
    const __mmask16 minus = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __m512i above = _mm512_set1_epi32(CODES_SIGNED_ZERO - 1);
    const __m512i below = _mm512_set1_epi32(CODES_SIGNED_ZERO + 1);
    number = _mm512_max_epi32(number, one);
    const __m512i down = _mm512_sub_epi32(below, _mm512_min_epi32(number, below));
    number = _mm512_mask_mov_epi32(_mm512_add_epi32(number, above), minus, down);
  } else {
    const __mmask16 plus = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ);
    number = _mm512_max_epi32(number, _mm512_mask_add_epi32(one, plus, one, one));
    number = _mm512_sub_epi32(number, one);
  }
  _mm_storeu_si128((__m128i *)codes, _mm512_cvtepi32_epi8(number));
}

#else

static const float codes_slopes[LANES] = CODES_SLOPES, codes_bases[LANES] = CODES_BASES;

/* Tables are in memory at this level. */
typedef struct Decoder {
  bool is_signed;
} Decoder;
typedef struct Encoder {
  const CodesMap *map;
} Encoder;

ALWAYS_INLINE Decoder v_decoder(bool is_signed) {
  return (Decoder){is_signed};
}
ALWAYS_INLINE Encoder v_encoder(const CodesMap *map, bool is_signed) {
  (void)is_signed;
  return (Encoder){map};
}

/* Codes of eight elements. The last decade is the value 1, which has no place in a table of eight.
 */
ALWAYS_INLINE __m256 v_codes_value_half(__m256i h, int first) {
  const __m256i bits = _mm256_castps_si256(_mm256_cvtepi32_ps(h));
  const __m256i power =
      _mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(127 + first));
  const __m256i f = _mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fffff)),
                                    _mm256_set1_epi32(0x3f800000));
  const __m256 slope = _mm256_permutevar8x32_ps(_mm256_loadu_ps(codes_slopes), power);
  const __m256 base = _mm256_permutevar8x32_ps(_mm256_loadu_ps(codes_bases), power);
  const __m256 value = _mm256_fmadd_ps(slope, _mm256_castsi256_ps(f), base);
  const __m256i is_last = _mm256_cmpeq_epi32(power, _mm256_set1_epi32(CODES_DECADES - 1));
  return _mm256_blendv_ps(value, _mm256_set1_ps(1.0f), _mm256_castsi256_ps(is_last));
}

ALWAYS_INLINE __m256 v_decode_half(const uint8_t *codes, bool is_signed) {
  const __m256i code = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)codes));
  const __m256i one = _mm256_set1_epi32(1);
  if (!is_signed)
    return v_codes_value_half(_mm256_add_epi32(_mm256_add_epi32(code, code), _mm256_set1_epi32(3)),
                              1);
  const __m256i number = _mm256_sub_epi32(code, _mm256_set1_epi32(CODES_SIGNED_ZERO));
  const __m256i size = _mm256_abs_epi32(number);
  const __m256 value = v_codes_value_half(_mm256_add_epi32(_mm256_add_epi32(size, size), one), 0);
  return v_copy_sign_half(value, _mm256_castsi256_ps(number));
}

ALWAYS_INLINE Vec v_decode(const Decoder *d, const uint8_t *codes, bool is_signed) {
  (void)d;
  return VEC_BOTH(v_decode_half(codes, is_signed), v_decode_half(codes + 8, is_signed));
}

ALWAYS_INLINE __m256i v_nearest_half(const CodesMap *map, __m256 y) {
  __m256i decade = _mm256_setzero_si256();
  UNROLL for (int k = 0; k < CODES_THRESHOLDS - 1; k++) {
    __m256 above = _mm256_cmp_ps(y, _mm256_set1_ps(map->threshold[k]), _CMP_GT_OQ);
    decade = _mm256_sub_epi32(decade, _mm256_castps_si256(above));
  }
  const __m256 scale = _mm256_permutevar8x32_ps(_mm256_loadu_ps(map->scale), decade);
  const __m256 shift = _mm256_permutevar8x32_ps(_mm256_loadu_ps(map->shift), decade);
  const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(map->low), decade);
  const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(map->high), decade);
  const __m256 is_last =
      _mm256_cmp_ps(y, _mm256_set1_ps(map->threshold[CODES_THRESHOLDS - 1]), _CMP_GT_OQ);
  __m256 at = _mm256_ceil_ps(_mm256_fmadd_ps(y, scale, shift));
  at = _mm256_min_ps(_mm256_max_ps(_mm256_sub_ps(at, _mm256_set1_ps(1.0f)), low), high);
  at = _mm256_blendv_ps(at, _mm256_set1_ps(map->low[CODES_DECADES - 1]), is_last);
  return _mm256_cvttps_epi32(at);
}

ALWAYS_INLINE __m256i v_encode_half(const CodesMap *map, __m256 x, float inverse, bool is_signed) {
  const __m256i one = _mm256_set1_epi32(1), zero = _mm256_set1_epi32(CODES_SIGNED_ZERO);
  const __m256 y = _mm256_mul_ps(x, _mm256_set1_ps(inverse));
  if (is_signed) {
    const __m256i number = v_nearest_half(map, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), y));
    const __m256 minus = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
    const __m256i down = _mm256_sub_epi32(zero, _mm256_min_epi32(number, zero));
    return _mm256_blendv_epi8(_mm256_add_epi32(number, zero), down, _mm256_castps_si256(minus));
  }
  const __m256 plus = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ);
  return _mm256_max_epi32(v_nearest_half(map, y), _mm256_and_si256(_mm256_castps_si256(plus), one));
}

ALWAYS_INLINE void v_encode(const Encoder *e, uint8_t *codes, Vec x, float inverse,
                            bool is_signed) {
  const __m256i wide = _mm256_packus_epi32(v_encode_half(e->map, x.low, inverse, is_signed),
                                           v_encode_half(e->map, x.high, inverse, is_signed));
  const __m256i words = _mm256_permute4x64_epi64(wide, 0xd8);
  const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0xd8);
  _mm_storeu_si128((__m128i *)codes, _mm256_castsi256_si128(bytes));
}

#endif

#endif
