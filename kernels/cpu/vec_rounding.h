/* vec_rounding.h -- for vec.h: tf32, on both levels. */
#ifndef LOCKSTEP_KERNELS_CPU_VEC_ROUNDING_H
#define LOCKSTEP_KERNELS_CPU_VEC_ROUNDING_H

#if defined(__AVX512F__)

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

#else

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

#endif

#endif
