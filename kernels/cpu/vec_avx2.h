/* vec_avx2.h -- vec.h's operations on two 256-bit registers. Needs AVX2 and FMA. */
#ifndef LOCKSTEP_KERNELS_CPU_VEC_AVX2_H
#define LOCKSTEP_KERNELS_CPU_VEC_AVX2_H

typedef struct Vec {
  __m256 low, high;
} Vec;

#define VEC_BOTH(call_low, call_high)                                                              \
  (Vec) {                                                                                          \
    call_low, call_high                                                                            \
  }

ALWAYS_INLINE __m256 v_low(Vec x) {
  return x.low;
}
ALWAYS_INLINE __m256 v_high(Vec x) {
  return x.high;
}
ALWAYS_INLINE Vec v_set(float x) {
  return VEC_BOTH(_mm256_set1_ps(x), _mm256_set1_ps(x));
}
ALWAYS_INLINE Vec v_load(const float *p) {
  return VEC_BOTH(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8));
}
ALWAYS_INLINE void v_store(float *p, Vec x) {
  _mm256_storeu_ps(p, x.low);
  _mm256_storeu_ps(p + 8, x.high);
}
ALWAYS_INLINE void v_stream(float *p, Vec x) {
  _mm256_stream_ps(p, x.low);
  _mm256_stream_ps(p + 8, x.high);
}
ALWAYS_INLINE Vec v_load_n(const float *p, int64_t n) {
  float lane[LANES] = {0};
  memcpy(lane, p, (size_t)n * sizeof *p);
  return v_load(lane);
}
ALWAYS_INLINE void v_store_n(float *p, int64_t n, Vec x) {
  float lane[LANES];
  v_store(lane, x);
  memcpy(p, lane, (size_t)n * sizeof *p);
}

ALWAYS_INLINE __m256 v_widen_bits(__m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
ALWAYS_INLINE __m256i v_round_bits(__m256 x) {
  __m256i bits = _mm256_castps_si256(x);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
}
ALWAYS_INLINE Vec v_load_bf16(const uint16_t *p) {
  return VEC_BOTH(v_widen_bits(_mm_loadu_si128((const __m128i *)p)),
                  v_widen_bits(_mm_loadu_si128((const __m128i *)(p + 8))));
}
ALWAYS_INLINE void v_store_bf16(uint16_t *p, Vec x) {
  __m256i packed = _mm256_packus_epi32(v_round_bits(x.low), v_round_bits(x.high));
  _mm256_storeu_si256((__m256i *)p, _mm256_permute4x64_epi64(packed, 0xd8));
}
ALWAYS_INLINE Vec v_load_bf16_n(const uint16_t *p, int64_t n) {
  uint16_t lane[LANES] = {0};
  memcpy(lane, p, (size_t)n * sizeof *p);
  return v_load_bf16(lane);
}
ALWAYS_INLINE void v_store_bf16_n(uint16_t *p, int64_t n, Vec x) {
  uint16_t lane[LANES];
  v_store_bf16(lane, x);
  memcpy(p, lane, (size_t)n * sizeof *p);
}

/* fp16 as f16.h has it. */
ALWAYS_INLINE __m128i v_to_f16_bits(__m256 half) {
  return _mm256_cvtps_ph(half, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ALWAYS_INLINE Vec v_load_f16(const uint16_t *p) {
  return VEC_BOTH(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)),
                  _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 8))));
}
ALWAYS_INLINE void v_store_f16(uint16_t *p, Vec x) {
  _mm_storeu_si128((__m128i *)p, v_to_f16_bits(x.low));
  _mm_storeu_si128((__m128i *)(p + 8), v_to_f16_bits(x.high));
}
ALWAYS_INLINE Vec v_load_f16_n(const uint16_t *p, int64_t n) {
  uint16_t lane[LANES] = {0};
  memcpy(lane, p, (size_t)n * sizeof *p);
  return v_load_f16(lane);
}
ALWAYS_INLINE void v_store_f16_n(uint16_t *p, int64_t n, Vec x) {
  uint16_t lane[LANES];
  v_store_f16(lane, x);
  memcpy(p, lane, (size_t)n * sizeof *p);
}

ALWAYS_INLINE Vec v_add(Vec a, Vec b) {
  return VEC_BOTH(_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high));
}
ALWAYS_INLINE Vec v_sub(Vec a, Vec b) {
  return VEC_BOTH(_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high));
}
ALWAYS_INLINE Vec v_mul(Vec a, Vec b) {
  return VEC_BOTH(_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high));
}
ALWAYS_INLINE Vec v_div(Vec a, Vec b) {
  return VEC_BOTH(_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high));
}
ALWAYS_INLINE Vec v_sqrt(Vec a) {
  return VEC_BOTH(_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high));
}
ALWAYS_INLINE Vec v_fma(Vec a, Vec b, Vec c) {
  return VEC_BOTH(_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high));
}
ALWAYS_INLINE Vec v_max(Vec a, Vec b) {
  return VEC_BOTH(_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high));
}
ALWAYS_INLINE Vec v_min(Vec a, Vec b) {
  return VEC_BOTH(_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high));
}
ALWAYS_INLINE Vec v_abs(Vec a) {
  __m256 minus = _mm256_set1_ps(-0.0f);
  return VEC_BOTH(_mm256_andnot_ps(minus, a.low), _mm256_andnot_ps(minus, a.high));
}
ALWAYS_INLINE Vec v_round(Vec a) {
  return VEC_BOTH(_mm256_round_ps(a.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                  _mm256_round_ps(a.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/* Two steps, for 2^n itself may be out of range: -150 <= n <= 129. */
ALWAYS_INLINE __m256 v_scale2_half(__m256 a, __m256 n) {
  __m256i whole = _mm256_cvtps_epi32(n);
  __m256i first = _mm256_srai_epi32(whole, 1);
  __m256i second = _mm256_sub_epi32(whole, first);
  __m256i bias = _mm256_set1_epi32(127);
  first = _mm256_slli_epi32(_mm256_add_epi32(first, bias), 23);
  second = _mm256_slli_epi32(_mm256_add_epi32(second, bias), 23);
  return _mm256_mul_ps(_mm256_mul_ps(a, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}
ALWAYS_INLINE Vec v_scale2(Vec a, Vec n) {
  return VEC_BOTH(v_scale2_half(a.low, n.low), v_scale2_half(a.high, n.high));
}
ALWAYS_INLINE __m256 v_copy_sign_half(__m256 size, __m256 sign) {
  __m256 minus = _mm256_set1_ps(-0.0f);
  return _mm256_or_ps(_mm256_andnot_ps(minus, size), _mm256_and_ps(minus, sign));
}
ALWAYS_INLINE Vec v_copy_sign(Vec size, Vec sign) {
  return VEC_BOTH(v_copy_sign_half(size.low, sign.low), v_copy_sign_half(size.high, sign.high));
}
ALWAYS_INLINE Vec v_less_select(Vec a, Vec b, Vec yes, Vec no) {
  __m256 low = _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ);
  __m256 high = _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ);
  return VEC_BOTH(_mm256_blendv_ps(no.low, yes.low, low),
                  _mm256_blendv_ps(no.high, yes.high, high));
}
ALWAYS_INLINE Vec v_keep_n(Vec x, int64_t n, Vec rest) {
  if (n >= LANES) return x;
  float lane[LANES], other[LANES];
  v_store(lane, x);
  v_store(other, rest);
  for (int64_t i = n; i < LANES; i++)
    lane[i] = other[i];
  return v_load(lane);
}

ALWAYS_INLINE void v_transpose16(Vec r[16]) {
  float from[LANES][LANES], to[LANES][LANES];
  for (int i = 0; i < LANES; i++)
    v_store(from[i], r[i]);
  for (int i = 0; i < LANES; i++)
    for (int j = 0; j < LANES; j++)
      to[j][i] = from[i][j];
  for (int i = 0; i < LANES; i++)
    r[i] = v_load(to[i]);
}
/* Bits of bf16 pairs: `first` rounded in the low halves, `second` in the high ones. */
ALWAYS_INLINE __m256 v_pairs_half(__m256 first, __m256 second) {
  __m256i high = _mm256_slli_epi32(v_round_bits(second), 16);
  return _mm256_castsi256_ps(_mm256_or_si256(v_round_bits(first), high));
}
ALWAYS_INLINE Vec v_pairs(Vec first, Vec second) {
  return VEC_BOTH(v_pairs_half(first.low, second.low), v_pairs_half(first.high, second.high));
}

/* 32 neighbouring bf16 as the sixteen at even and the sixteen at odd places. */
ALWAYS_INLINE void v_load_pairs(const uint16_t *p, Vec *even, Vec *odd) {
  __m256i low = _mm256_loadu_si256((const __m256i *)p);
  __m256i high = _mm256_loadu_si256((const __m256i *)(p + 16));
  __m256i upper = _mm256_set1_epi32((int)0xffff0000u);
  *even = VEC_BOTH(_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
                   _mm256_castsi256_ps(_mm256_slli_epi32(high, 16)));
  *odd = VEC_BOTH(_mm256_castsi256_ps(_mm256_and_si256(low, upper)),
                  _mm256_castsi256_ps(_mm256_and_si256(high, upper)));
}
ALWAYS_INLINE void v_store_pairs(uint16_t *p, Vec even, Vec odd) {
  __m256i low = _mm256_slli_epi32(v_round_bits(odd.low), 16);
  __m256i high = _mm256_slli_epi32(v_round_bits(odd.high), 16);
  _mm256_storeu_si256((__m256i *)p, _mm256_or_si256(v_round_bits(even.low), low));
  _mm256_storeu_si256((__m256i *)(p + 16), _mm256_or_si256(v_round_bits(even.high), high));
}

typedef struct VecDouble {
  __m256d part[4];
} VecDouble;

ALWAYS_INLINE VecDouble vd_zero(void) {
  __m256d zero = _mm256_setzero_pd();
  return (VecDouble){{zero, zero, zero, zero}};
}
ALWAYS_INLINE __m256d vd_part(__m256 half, int upper) {
  return _mm256_cvtps_pd(upper ? _mm256_extractf128_ps(half, 1) : _mm256_castps256_ps128(half));
}
ALWAYS_INLINE VecDouble vd_add_product(VecDouble sum, Vec a, Vec b) {
  for (int i = 0; i < 4; i++) {
    __m256 x = i < 2 ? a.low : a.high, y = i < 2 ? b.low : b.high;
    sum.part[i] = _mm256_fmadd_pd(vd_part(x, i & 1), vd_part(y, i & 1), sum.part[i]);
  }
  return sum;
}
ALWAYS_INLINE double vd_sum(VecDouble sum) {
  double lane[LANES], total = 0;
  for (int i = 0; i < 4; i++)
    _mm256_storeu_pd(lane + 4 * i, sum.part[i]);
  for (int i = 0; i < LANES; i++)
    total += lane[i];
  return total;
}

ALWAYS_INLINE float v_fold_sum(__m256 half) {
  __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
}
ALWAYS_INLINE float v_sum(Vec x) {
  return v_fold_sum(_mm256_add_ps(x.low, x.high));
}
ALWAYS_INLINE float v_largest(Vec x) {
  __m256 half = _mm256_max_ps(x.low, x.high);
  __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  quarter = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_max_ss(quarter, _mm_movehdup_ps(quarter)));
}

#endif
