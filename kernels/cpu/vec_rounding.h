/* vec_rounding.h -- for vec.h: how updates store bf16 parameters other than to nearest, and tf32,
 * on both levels. */
#ifndef LOCKSTEP_KERNELS_CPU_VEC_ROUNDING_H
#define LOCKSTEP_KERNELS_CPU_VEC_ROUNDING_H

#if defined(__AVX512F__)

/* As bf16_stochastic, each with a draw of its own. */
ALWAYS_INLINE void v_store_stochastic(uint16_t *p, Vec x, const uint16_t *draws) {
  __m512i bits = _mm512_castps_si512(x);
  __m512i draw = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)draws));
  __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  __m512i up = _mm512_add_epi32(bits, draw);
  up = _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000));
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16)));
}
/* As tf32_round. */
ALWAYS_INLINE Vec v_tf32(Vec x) {
  __m512i bits = _mm512_castps_si512(x), odd = _mm512_set1_epi32(1);
  __m512i exponent = _mm512_set1_epi32(0x7f800000);
  odd = _mm512_and_si512(_mm512_srli_epi32(bits, 13), odd);
  __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0xfff)));
  __mmask16 finite = _mm512_cmpneq_epi32_mask(_mm512_and_si512(bits, exponent), exponent);
  return _mm512_castsi512_ps(
      _mm512_mask_and_epi32(bits, finite, up, _mm512_set1_epi32((int)0xffffe000u)));
}
/* split.h's two halves. */
ALWAYS_INLINE Vec v_load_split(const uint16_t *high, const int16_t *low) {
  __m512i upper = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)high));
  __m512i lower = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)low));
  return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_slli_epi32(upper, 16), lower));
}
ALWAYS_INLINE void v_store_split(uint16_t *high, int16_t *low, Vec x) {
  __m512i bits = _mm512_castps_si512(x);
  __m512i up = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x8000)), 16);
  _mm256_storeu_si256((__m256i *)high, _mm512_cvtepi32_epi16(up));
  _mm256_storeu_si256((__m256i *)low, _mm512_cvtepi32_epi16(bits));
}

#else

/* As bf16_stochastic, each with a draw of its own. */
ALWAYS_INLINE __m256i v_stochastic_half(__m256 x, const uint16_t *draws) {
  __m256i bits = _mm256_castps_si256(x);
  __m256i draw = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)draws));
  __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(_mm256_add_epi32(bits, draw), quiet, nan), 16);
}
ALWAYS_INLINE void v_store_stochastic(uint16_t *p, Vec x, const uint16_t *draws) {
  __m256i packed =
      _mm256_packus_epi32(v_stochastic_half(x.low, draws), v_stochastic_half(x.high, draws + 8));
  _mm256_storeu_si256((__m256i *)p, _mm256_permute4x64_epi64(packed, 0xd8));
}
/* As tf32_round. */
ALWAYS_INLINE __m256 v_tf32_half(__m256 x) {
  __m256i bits = _mm256_castps_si256(x), exponent = _mm256_set1_epi32(0x7f800000);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 13), _mm256_set1_epi32(1));
  __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0xfff)));
  __m256i other = _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), exponent);
  up = _mm256_and_si256(up, _mm256_set1_epi32((int)0xffffe000u));
  return _mm256_castsi256_ps(_mm256_blendv_epi8(up, bits, other));
}
ALWAYS_INLINE Vec v_tf32(Vec x) {
  return VEC_BOTH(v_tf32_half(x.low), v_tf32_half(x.high));
}
/* split.h's two halves. */
ALWAYS_INLINE __m256 v_load_split_half(const uint16_t *high, const int16_t *low) {
  __m256i upper = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)high));
  __m256i lower = _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)low));
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_slli_epi32(upper, 16), lower));
}
ALWAYS_INLINE Vec v_load_split(const uint16_t *high, const int16_t *low) {
  return VEC_BOTH(v_load_split_half(high, low), v_load_split_half(high + 8, low + 8));
}
ALWAYS_INLINE __m256i v_pack_halves(__m256i first, __m256i second) {
  return _mm256_permute4x64_epi64(_mm256_packus_epi32(first, second), 0xd8);
}
ALWAYS_INLINE void v_store_split(uint16_t *high, int16_t *low, Vec x) {
  __m256i a = _mm256_castps_si256(x.low), b = _mm256_castps_si256(x.high);
  __m256i half = _mm256_set1_epi32(0x8000), lower = _mm256_set1_epi32(0xffff);
  __m256i up = v_pack_halves(_mm256_srli_epi32(_mm256_add_epi32(a, half), 16),
                             _mm256_srli_epi32(_mm256_add_epi32(b, half), 16));
  _mm256_storeu_si256((__m256i *)high, up);
  _mm256_storeu_si256((__m256i *)low,
                      v_pack_halves(_mm256_and_si256(a, lower), _mm256_and_si256(b, lower)));
}

#endif

#endif
