/* gemm_pack.c -- copies lines of a factor into panels of 4-byte units. */
#include "kernels/cpu/gemm.h"

ALWAYS_INLINE void put_units(PackTarget to, int64_t unit, Vec x) {
  float *low = to.low + unit * to.stride;
  if (to.high) {
    _mm256_storeu_ps(low, v_low(x));
    _mm256_storeu_ps(to.high + unit * to.stride, v_high(x));
  } else {
    v_store(low, x);
  }
}

#if defined(__AVX512F__)

/* Sixteen units of one line, `units` of them present; the last may lack its second half. */
ALWAYS_INLINE __m512 get_units(const Factor *x, int64_t line, int64_t k, int64_t elements,
                               bool pairs) {
  int64_t element = line * x->line_stride + k;
  if (!pairs) return v_get_n(x->data, element, min64(elements, LANES), x->bf16);
  const uint16_t *from = (const uint16_t *)x->data + element;
  __mmask32 present = elements >= 32 ? 0xffffffffu : (1u << elements) - 1u;
  return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(present, from));
}

ALWAYS_INLINE void pack_dense_k(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                                bool pairs, PackTarget to) {
  int64_t per_unit = pairs ? 2 : 1, units = ceil_div(k, per_unit);
  for (int64_t u = 0; u < units; u += LANES) {
    __m512 r[16];
    UNROLL for (int i = 0; i < 16; i++) {
      r[i] = i < lines ? get_units(x, line + i, k0 + u * per_unit, k - u * per_unit, pairs)
                       : _mm512_setzero_ps();
    }
    v_transpose16(r);
    if (units - u >= LANES) {
      UNROLL for (int i = 0; i < 16; i++) put_units(to, u + i, r[i]);
    } else {
      UNROLL for (int i = 0; i < 16; i++) {
        if (i < units - u) put_units(to, u + i, r[i]);
      }
    }
  }
}

#else

ALWAYS_INLINE void pack_dense_k(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                                bool pairs, PackTarget to) {
  (void)pairs;
  for (int64_t u = 0; u < k; u++) {
    float unit[LANES] = {0};
    for (int64_t i = 0; i < lines; i++)
      unit[i] = float_get(x->data, (line + i) * x->line_stride + k0 + u, x->bf16);
    put_units(to, u, v_load(unit));
  }
}

#endif

/* Sixteen lines stand side by side; with pairs, rows k and k + 1 interleave. */
ALWAYS_INLINE void pack_dense_lines(const Factor *x, int64_t line, int64_t lines, int64_t k0,
                                    int64_t k, bool pairs, PackTarget to) {
  if (!pairs) {
    for (int64_t u = 0; u < k; u++)
      put_units(to, u, v_get_n(x->data, (k0 + u) * x->k_stride + line, lines, x->bf16));
    return;
  }
#if defined(__AVX512F__)
  const uint16_t *from = (const uint16_t *)x->data + k0 * x->k_stride + line;
  __mmask16 present = lanes_below(lines);
  for (int64_t u = 0; 2 * u < k; u++, from += 2 * x->k_stride) {
    __m512i first = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(present, from));
    if (2 * u + 1 < k) {
      __m256i second = _mm256_maskz_loadu_epi16(present, from + x->k_stride);
      first = _mm512_or_si512(first, _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
    }
    put_units(to, u, _mm512_castsi512_ps(first));
  }
#endif
}

void CPU(gemm_pack)(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k, bool pairs,
                    PackTarget to) {
  if (x->k_stride != 1)
    pack_dense_lines(x, line, lines, k0, k, pairs, to);
  else if (pairs)
    pack_dense_k(x, line, lines, k0, k, true, to);
  else
    pack_dense_k(x, line, lines, k0, k, false, to);
}
