/* vec.h -- sixteen floats: one register with AVX-512, two with AVX2.
 *
 * Both levels compute the same operations on the same sixteen lanes, so results in fp32 do not
 * depend on the level (reductions fold halves in the same order). In bf16 they depend on the
 * variant of the matrix product (kernels/product.h): those of pairs add two products at once and
 * round differently. Rounding to bf16 is bf16.h's. */
#ifndef LOCKSTEP_KERNELS_CPU_VEC_H
#define LOCKSTEP_KERNELS_CPU_VEC_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/math/floats.h"
#include "runtime/plan/dtype.h"

enum { LANES = 16 };

#if defined(__clang__)
#define ALWAYS_INLINE static inline __attribute__((always_inline, unused))
#define UNROLL        _Pragma("clang loop unroll(full)")
#else
#define ALWAYS_INLINE static inline __attribute__((always_inline, unused))
#define UNROLL        _Pragma("GCC unroll 32")
#endif

#if defined(__AVX512F__)
#include "kernels/cpu/vec_avx512.h" // IWYU pragma: export
#else
#include "kernels/cpu/vec_avx2.h" // IWYU pragma: export
#endif
#include "kernels/cpu/vec_rounding.h" // IWYU pragma: export

/* v_stream(p, x) writes past the caches, without reading the line first; p is a whole line. What a
 * thread streamed is in order before others' reads after this. */
ALWAYS_INLINE void v_stream_end(void) {
  _mm_sfence();
}

/* ---- elements of any storage type ---------------------------------------------------------*/

static inline int64_t float_bytes(DType dtype) {
  return dtype == DTYPE_F32 ? 4 : 2;
}

ALWAYS_INLINE const void *at(const void *base, int64_t element, DType dtype) {
  return (const char *)base + element * float_bytes(dtype);
}

ALWAYS_INLINE void *at_mut(void *base, int64_t element, DType dtype) {
  return (char *)base + element * float_bytes(dtype);
}

ALWAYS_INLINE Vec v_get(const void *base, int64_t element, DType dtype) {
  if (dtype == DTYPE_F32) return v_load((const float *)base + element);
  const uint16_t *p = (const uint16_t *)base + element;
  return dtype == DTYPE_F16 ? v_load_f16(p) : v_load_bf16(p);
}

ALWAYS_INLINE void v_put(void *base, int64_t element, DType dtype, Vec x) {
  if (dtype == DTYPE_F32)
    v_store((float *)base + element, x);
  else if (dtype == DTYPE_F16)
    v_store_f16((uint16_t *)base + element, x);
  else
    v_store_bf16((uint16_t *)base + element, x);
}

/* The same for n <= 16 elements; the other lanes read as 0 and are not written. */
ALWAYS_INLINE Vec v_get_n(const void *base, int64_t element, int64_t n, DType dtype) {
  if (n >= LANES) return v_get(base, element, dtype);
  if (dtype == DTYPE_F32) return v_load_n((const float *)base + element, n);
  const uint16_t *p = (const uint16_t *)base + element;
  return dtype == DTYPE_F16 ? v_load_f16_n(p, n) : v_load_bf16_n(p, n);
}

ALWAYS_INLINE void v_put_n(void *base, int64_t element, int64_t n, DType dtype, Vec x) {
  if (n >= LANES)
    v_put(base, element, dtype, x);
  else if (dtype == DTYPE_F32)
    v_store_n((float *)base + element, n, x);
  else if (dtype == DTYPE_F16)
    v_store_f16_n((uint16_t *)base + element, n, x);
  else
    v_store_bf16_n((uint16_t *)base + element, n, x);
}

/* ---- functions
 * ---------------------------------------------------------------------------------*/

ALWAYS_INLINE Vec v_neg(Vec x) {
  return v_sub(v_set(0.0f), x);
}

/* e^x within 2 ulp; 0 below -104, infinity above 89, NaN for NaN.
 * x = n ln2 + r, |r| <= ln2 / 2; e^r by its Taylor-like polynomial of degree 6 (Cephes' expf). */
ALWAYS_INLINE Vec v_exp(Vec x) {
  x = v_min(v_set(89.0f), v_max(v_set(-104.0f), x));
  Vec n = v_round(v_mul(x, v_set(1.44269504088896341f)));
  Vec r = v_fma(n, v_set(-0.693359375f), x);
  r = v_fma(n, v_set(2.12194440e-4f), r);
  Vec p = v_set(1.9875691500e-4f);
  p = v_fma(p, r, v_set(1.3981999507e-3f));
  p = v_fma(p, r, v_set(8.3334519073e-3f));
  p = v_fma(p, r, v_set(4.1665795894e-2f));
  p = v_fma(p, r, v_set(1.6666665459e-1f));
  p = v_fma(p, r, v_set(5.0000001201e-1f));
  p = v_fma(v_mul(p, r), r, r);
  return v_scale2(v_add(p, v_set(1.0f)), n);
}

/* 1 / (1 + e^-x), within 4 ulp. */
ALWAYS_INLINE Vec v_sigmoid(Vec x) {
  return v_div(v_set(1.0f), v_add(v_set(1.0f), v_exp(v_neg(x))));
}

/* Within 4 ulp: an odd polynomial (Cephes' tanhf) below 0.625, 1 - 2 / (e^2|x| + 1) above. */
ALWAYS_INLINE Vec v_tanh(Vec x) {
  Vec z = v_mul(x, x);
  Vec p = v_set(-5.70498872745e-3f);
  p = v_fma(p, z, v_set(2.06390887954e-2f));
  p = v_fma(p, z, v_set(-5.37397155531e-2f));
  p = v_fma(p, z, v_set(1.33314422036e-1f));
  p = v_fma(p, z, v_set(-3.33332819422e-1f));
  p = v_fma(v_mul(p, z), x, x);
  Vec size = v_abs(x);
  Vec e = v_exp(v_add(size, size));
  Vec big = v_sub(v_set(1.0f), v_div(v_set(2.0f), v_add(e, v_set(1.0f))));
  return v_less_select(size, v_set(0.625f), p, v_copy_sign(big, x));
}

#endif
