/* vec_avx512.h -- vec.h's operations on one 512-bit register. Needs F, BW, DQ, VL. */
#ifndef LOCKSTEP_KERNELS_CPU_VEC_AVX512_H
#define LOCKSTEP_KERNELS_CPU_VEC_AVX512_H

typedef __m512 Vec;

ALWAYS_INLINE __mmask16 lanes_below(int64_t n) {
  return (__mmask16)((1u << n) - 1u);
}

ALWAYS_INLINE Vec v_set(float x) {
  return _mm512_set1_ps(x);
}
ALWAYS_INLINE Vec v_load(const float *p) {
  return _mm512_loadu_ps(p);
}
ALWAYS_INLINE void v_store(float *p, Vec x) {
  _mm512_storeu_ps(p, x);
}
ALWAYS_INLINE void v_stream(float *p, Vec x) {
  _mm512_stream_ps(p, x);
}
ALWAYS_INLINE Vec v_load_n(const float *p, int64_t n) {
  return _mm512_maskz_loadu_ps(lanes_below(n), p);
}
ALWAYS_INLINE void v_store_n(float *p, int64_t n, Vec x) {
  _mm512_mask_storeu_ps(p, lanes_below(n), x);
}

ALWAYS_INLINE Vec v_widen_bits(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
ALWAYS_INLINE __m256i v_round_bits(Vec x) {
  __m512i bits = _mm512_castps_si512(x);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  up = _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16));
}
ALWAYS_INLINE Vec v_load_bf16(const uint16_t *p) {
  return v_widen_bits(_mm256_loadu_si256((const __m256i *)p));
}
ALWAYS_INLINE void v_store_bf16(uint16_t *p, Vec x) {
  _mm256_storeu_si256((__m256i *)p, v_round_bits(x));
}
ALWAYS_INLINE Vec v_load_bf16_n(const uint16_t *p, int64_t n) {
  return v_widen_bits(_mm256_maskz_loadu_epi16(lanes_below(n), p));
}
ALWAYS_INLINE void v_store_bf16_n(uint16_t *p, int64_t n, Vec x) {
  _mm256_mask_storeu_epi16(p, lanes_below(n), v_round_bits(x));
}

/* fp16 as f16.h has it. */
ALWAYS_INLINE __m256i v_to_f16_bits(Vec x) {
  return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ALWAYS_INLINE Vec v_load_f16(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
ALWAYS_INLINE void v_store_f16(uint16_t *p, Vec x) {
  _mm256_storeu_si256((__m256i *)p, v_to_f16_bits(x));
}
ALWAYS_INLINE Vec v_load_f16_n(const uint16_t *p, int64_t n) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes_below(n), p));
}
ALWAYS_INLINE void v_store_f16_n(uint16_t *p, int64_t n, Vec x) {
  _mm256_mask_storeu_epi16(p, lanes_below(n), v_to_f16_bits(x));
}

ALWAYS_INLINE Vec v_add(Vec a, Vec b) {
  return _mm512_add_ps(a, b);
}
ALWAYS_INLINE Vec v_sub(Vec a, Vec b) {
  return _mm512_sub_ps(a, b);
}
ALWAYS_INLINE Vec v_mul(Vec a, Vec b) {
  return _mm512_mul_ps(a, b);
}
ALWAYS_INLINE Vec v_div(Vec a, Vec b) {
  return _mm512_div_ps(a, b);
}
ALWAYS_INLINE Vec v_sqrt(Vec a) {
  return _mm512_sqrt_ps(a);
}
/* a * b + c, rounded once. */
ALWAYS_INLINE Vec v_fma(Vec a, Vec b, Vec c) {
  return _mm512_fmadd_ps(a, b, c);
}
/* NaN in b comes through; NaN in a does not. */
ALWAYS_INLINE Vec v_max(Vec a, Vec b) {
  return _mm512_max_ps(a, b);
}
ALWAYS_INLINE Vec v_min(Vec a, Vec b) {
  return _mm512_min_ps(a, b);
}
ALWAYS_INLINE Vec v_abs(Vec a) {
  return _mm512_abs_ps(a);
}
ALWAYS_INLINE Vec v_round(Vec a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* a * 2^n for integral n. */
ALWAYS_INLINE Vec v_scale2(Vec a, Vec n) {
  return _mm512_scalef_ps(a, n);
}
ALWAYS_INLINE Vec v_copy_sign(Vec size, Vec sign) {
  __m512 minus = _mm512_set1_ps(-0.0f);
  return _mm512_or_ps(_mm512_andnot_ps(minus, size), _mm512_and_ps(minus, sign));
}
/* a < b ? yes : no */
ALWAYS_INLINE Vec v_less_select(Vec a, Vec b, Vec yes, Vec no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
/* Lanes n and above become `rest`. */
ALWAYS_INLINE Vec v_keep_n(Vec x, int64_t n, Vec rest) {
  return n >= LANES ? x : _mm512_mask_blend_ps(lanes_below(n), rest, x);
}

ALWAYS_INLINE __m256 v_low(Vec x) {
  return _mm512_castps512_ps256(x);
}
ALWAYS_INLINE __m256 v_high(Vec x) {
  return _mm512_extractf32x8_ps(x, 1);
}

/* r[i] lane j becomes r[j] lane i. */
ALWAYS_INLINE void v_transpose16(Vec r[16]) {
  Vec t[16];
  UNROLL for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  UNROLL for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  UNROLL for (int i = 0; i < 4; i++) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
  }
  UNROLL for (int i = 0; i < 4; i++) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

/* Bits of bf16 pairs: `first` rounded in the low halves, `second` in the high ones. */
ALWAYS_INLINE __m512i v_round_high(Vec x) {
  __m512i bits = _mm512_castps_si512(x);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  return _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
}
ALWAYS_INLINE Vec v_pairs(Vec first, Vec second) {
  __m512i low = _mm512_srli_epi32(v_round_high(first), 16);
  __m512i high = _mm512_andnot_si512(_mm512_set1_epi32(0xffff), v_round_high(second));
  return _mm512_castsi512_ps(_mm512_or_si512(low, high));
}

/* 32 neighbouring bf16 as the sixteen at even and the sixteen at odd places: no lane has to move.
 */
ALWAYS_INLINE void v_load_pairs(const uint16_t *p, Vec *even, Vec *odd) {
  __m512i bits = _mm512_loadu_si512(p);
  *even = _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
  *odd = _mm512_castsi512_ps(_mm512_andnot_si512(_mm512_set1_epi32(0xffff), bits));
}
ALWAYS_INLINE void v_store_pairs(uint16_t *p, Vec even, Vec odd) {
  __m512i bits = _mm512_castps_si512(v_pairs(even, odd));
  if (__builtin_expect(_mm512_cmp_ps_mask(even, odd, _CMP_UNORD_Q) != 0, 0)) { /* a NaN */
    __m512i low = _mm512_cvtepu16_epi32(v_round_bits(even));
    __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(v_round_bits(odd)), 16);
    bits = _mm512_or_si512(low, high);
  }
  _mm512_storeu_si512(p, bits);
}

/* The sum, in double, of x added to eight running sums. */
typedef struct VecDouble {
  __m512d low, high;
} VecDouble;

ALWAYS_INLINE VecDouble vd_zero(void) {
  return (VecDouble){_mm512_setzero_pd(), _mm512_setzero_pd()};
}
ALWAYS_INLINE VecDouble vd_add_product(VecDouble sum, Vec a, Vec b) {
  sum.low = _mm512_fmadd_pd(_mm512_cvtps_pd(v_low(a)), _mm512_cvtps_pd(v_low(b)), sum.low);
  sum.high = _mm512_fmadd_pd(_mm512_cvtps_pd(v_high(a)), _mm512_cvtps_pd(v_high(b)), sum.high);
  return sum;
}
ALWAYS_INLINE double vd_sum(VecDouble sum) {
  double lane[16], total = 0;
  _mm512_storeu_pd(lane, sum.low);
  _mm512_storeu_pd(lane + 8, sum.high);
  for (int i = 0; i < 16; i++)
    total += lane[i];
  return total;
}

ALWAYS_INLINE float v_fold_sum(__m256 half) {
  __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
}
ALWAYS_INLINE float v_sum(Vec x) {
  return v_fold_sum(_mm256_add_ps(v_low(x), v_high(x)));
}
ALWAYS_INLINE float v_largest(Vec x) {
  return _mm512_reduce_max_ps(x);
}

#endif
