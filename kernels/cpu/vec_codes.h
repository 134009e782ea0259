/* vec_codes.h -- kernels/math/codes.h for sixteen elements, on both levels: the same operations in
 * the same order. */
#ifndef LOCKSTEP_KERNELS_CPU_VEC_CODES_H
#define LOCKSTEP_KERNELS_CPU_VEC_CODES_H

#include "kernels/cpu/vec.h"
#include "kernels/math/codes.h"

static const float codes_slopes[LANES] = CODES_SLOPES, codes_bases[LANES] = CODES_BASES;

#if defined(__AVX512F__)

/* fma(slope, f, base) of h: codes_value. */
ALWAYS_INLINE __m512 v_codes_value(__m512i h, int first) {
  const __m512i bits = _mm512_castps_si512(_mm512_cvtepi32_ps(h));
  const __m512i power =
      _mm512_sub_epi32(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(127 + first));
  const __m512i f = _mm512_or_si512(_mm512_and_si512(bits, _mm512_set1_epi32(0x7fffff)),
                                    _mm512_set1_epi32(0x3f800000));
  const __m512 slope = _mm512_permutexvar_ps(power, _mm512_loadu_ps(codes_slopes));
  const __m512 base = _mm512_permutexvar_ps(power, _mm512_loadu_ps(codes_bases));
  return _mm512_fmadd_ps(slope, _mm512_castsi512_ps(f), base);
}

ALWAYS_INLINE Vec v_decode(const uint8_t *codes, bool is_signed) {
  const __m512i code = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)codes));
  const __m512i one = _mm512_set1_epi32(1);
  if (!is_signed)
    return v_codes_value(_mm512_add_epi32(_mm512_add_epi32(code, code), _mm512_set1_epi32(3)), 1);
  const __m512i number = _mm512_sub_epi32(code, _mm512_set1_epi32(CODES_SIGNED_ZERO));
  const __m512i size = _mm512_abs_epi32(number);
  const __m512 value = v_codes_value(_mm512_add_epi32(_mm512_add_epi32(size, size), one), 0);
  return v_copy_sign(value, _mm512_castsi512_ps(number));
}

/* The numbers of values that are nearest to y, in 32-bit lanes: codes_nearest. */
ALWAYS_INLINE __m512i v_nearest(const CodesMap *map, __m512 y) {
  const __m512i one = _mm512_set1_epi32(1);
  const __mmask16 all = lanes_below(CODES_DECADES);
  __m512i decade = _mm512_setzero_si512();
  UNROLL for (int k = 0; k < CODES_THRESHOLDS; k++) {
    __mmask16 above = _mm512_cmp_ps_mask(y, _mm512_set1_ps(map->threshold[k]), _CMP_GT_OQ);
    decade = _mm512_mask_add_epi32(decade, above, decade, one);
  }
  const __m512 scale = _mm512_permutexvar_ps(decade, _mm512_maskz_loadu_ps(all, map->scale));
  const __m512 shift = _mm512_permutexvar_ps(decade, _mm512_maskz_loadu_ps(all, map->shift));
  const __m512 low = _mm512_permutexvar_ps(decade, _mm512_maskz_loadu_ps(all, map->low));
  const __m512 high = _mm512_permutexvar_ps(decade, _mm512_maskz_loadu_ps(all, map->high));
  __m512 at = _mm512_fmadd_ps(y, scale, shift);
  at = _mm512_roundscale_ps(at, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  at = _mm512_min_ps(_mm512_max_ps(_mm512_sub_ps(at, _mm512_set1_ps(1.0f)), low), high);
  return _mm512_cvttps_epi32(at);
}

ALWAYS_INLINE void v_encode(const CodesMap *map, uint8_t *codes, Vec x, float inverse,
                            bool is_signed) {
  const __m512i one = _mm512_set1_epi32(1), zero = _mm512_set1_epi32(CODES_SIGNED_ZERO);
  const __m512 y = _mm512_mul_ps(x, _mm512_set1_ps(inverse));
  __m512i number = v_nearest(map, is_signed ? _mm512_abs_ps(y) : y);
  if (is_signed) {
    const __mmask16 minus = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __m512i down = _mm512_sub_epi32(zero, _mm512_min_epi32(number, zero));
    number = _mm512_mask_mov_epi32(_mm512_add_epi32(number, zero), minus, down);
  } else {
    const __mmask16 plus = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ);
    number = _mm512_mask_max_epi32(number, plus, number, one);
  }
  _mm_storeu_si128((__m128i *)codes, _mm512_cvtepi32_epi8(number));
}

#else

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

ALWAYS_INLINE Vec v_decode(const uint8_t *codes, bool is_signed) {
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

ALWAYS_INLINE void v_encode(const CodesMap *map, uint8_t *codes, Vec x, float inverse,
                            bool is_signed) {
  const __m256i wide = _mm256_packus_epi32(v_encode_half(map, x.low, inverse, is_signed),
                                           v_encode_half(map, x.high, inverse, is_signed));
  const __m256i words = _mm256_permute4x64_epi64(wide, 0xd8);
  const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0xd8);
  _mm_storeu_si128((__m128i *)codes, _mm256_castsi256_si128(bytes));
}

#endif

#endif
