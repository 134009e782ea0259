/* gemm_panels.c -- copies lines of a factor into panels of 4-byte units. */
#include "kernels/cpu/gemm.h"

ALWAYS_INLINE void put_units(const PanelTarget *t, int64_t group, int64_t unit, Vec x) {
  float *to = t->to + group * t->group + unit * t->stride;
  if (t->half) {
    _mm256_storeu_ps(to, v_low(x));
    _mm256_storeu_ps(to + t->half, v_high(x));
  } else {
    v_store(to, x);
  }
}

#if defined(__AVX512F__)

/* Sixteen units of one line, `units` of them present; the last may lack its second half. */
ALWAYS_INLINE __m512 get_units(const Factor *x, int64_t line, int64_t k, int64_t elements,
                               bool pairs) {
  int64_t element = line * x->line_stride + k;
  if (!pairs) return v_get_n(x->data, element, min64(elements, LANES), x->dtype);
  const uint16_t *from = (const uint16_t *)x->data + element;
  __mmask32 present = elements >= 32 ? 0xffffffffu : (1u << elements) - 1u;
  return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(present, from));
}

ALWAYS_INLINE void fill_dense_k(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                                bool pairs, const PanelTarget *to, int64_t group) {
  int64_t per_unit = pairs ? 2 : 1, units = ceil_div(k, per_unit);
  for (int64_t u = 0; u < units; u += LANES) {
    __m512 r[16];
    UNROLL for (int i = 0; i < 16; i++) {
      r[i] = i < lines ? get_units(x, line + i, k0 + u * per_unit, k - u * per_unit, pairs)
                       : _mm512_setzero_ps();
    }
    v_transpose16(r);
    if (units - u >= LANES) {
      UNROLL for (int i = 0; i < 16; i++) put_units(to, group, u + i, r[i]);
    } else {
      UNROLL for (int i = 0; i < 16; i++) {
        if (i < units - u) put_units(to, group, u + i, r[i]);
      }
    }
  }
}

#else

ALWAYS_INLINE void fill_dense_k(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                                bool pairs, const PanelTarget *to, int64_t group) {
  int64_t per_unit = pairs ? 2 : 1, units = ceil_div(k, per_unit);
  for (int64_t u = 0; u < units; u++) {
    float unit[LANES] = {0};
    for (int64_t i = 0; i < min64(lines, LANES); i++) {
      int64_t element = (line + i) * x->line_stride + k0 + u * per_unit;
      if (pairs)
        memcpy(unit + i, at(x->data, element, DTYPE_BF16), 2 * u + 1 < k ? 4 : 2);
      else
        unit[i] = float_get(x->data, element, x->dtype);
    }
    put_units(to, group, u, v_load(unit));
  }
}

#endif

#if defined(__AVX512F__)

/* Sixteen lines' pairs of elements, from two rows of k. */
ALWAYS_INLINE Vec interleave(__m256i first, __m256i second) {
  const __m512i order = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40,
                                         8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  return _mm512_castsi512_ps(_mm512_permutex2var_epi16(_mm512_castsi256_si512(first), order,
                                                       _mm512_castsi256_si512(second)));
}

/* The unit of sixteen lines at `from`, or of the n < 16 that exist; the second row may not. */
ALWAYS_INLINE Vec pair_unit(const uint16_t *from, int64_t k_stride, bool second, int64_t n) {
  if (n >= LANES && second)
    return interleave(_mm256_loadu_si256((const __m256i *)from),
                      _mm256_loadu_si256((const __m256i *)(from + k_stride)));
  __mmask16 present = n >= LANES ? 0xffff : lanes_below(n);
  __m256i high = _mm256_maskz_loadu_epi16(second ? present : 0, second ? from + k_stride : from);
  return interleave(_mm256_maskz_loadu_epi16(present, from), high);
}

#else

ALWAYS_INLINE Vec pair_unit(const uint16_t *from, int64_t k_stride, bool second, int64_t n) {
  uint32_t unit[LANES] = {0};
  for (int64_t i = 0; i < min64(n, LANES); i++)
    unit[i] = from[i] | (second ? (uint32_t)from[k_stride + i] << 16 : 0);
  float lane[LANES];
  memcpy(lane, unit, sizeof lane);
  return v_load(lane);
}

#endif

/* Copies `groups` groups of adjacent lines, all of one row before the next; only the last
 * may lack lines. */
ALWAYS_INLINE void fill_groups(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                               bool pairs, PanelTarget to, int64_t groups) {
  int64_t units = pairs ? (k + 1) / 2 : k, step = x->k_stride * (pairs ? 2 : 1);
  const void *from = at(x->data, k0 * x->k_stride + line, x->dtype);
  for (int64_t u = 0; u < units; u++) {
    UNROLL for (int64_t g = 0; g < groups; g++) {
      int64_t n = groups > 1 ? LANES : lines;
      Vec unit = pairs
                     ? pair_unit((const uint16_t *)from + g * LANES, x->k_stride, 2 * u + 1 < k, n)
                     : v_get_n(from, g * LANES, n, x->dtype);
      put_units(&to, g, u, unit);
    }
    from = at(from, step, x->dtype);
  }
}

ALWAYS_INLINE void fill_dense_lines(const Factor *x, int64_t line, int64_t lines, int64_t k0,
                                    int64_t k, bool pairs, PanelTarget to) {
  int64_t i = 0;
  for (; lines - i >= 4 * LANES; i += 4 * LANES, to.to += 4 * to.group)
    fill_groups(x, line + i, 4 * LANES, k0, k, pairs, to, 4);
  for (; lines - i >= 3 * LANES; i += 3 * LANES, to.to += 3 * to.group)
    fill_groups(x, line + i, 3 * LANES, k0, k, pairs, to, 3);
  for (; lines - i >= 2 * LANES; i += 2 * LANES, to.to += 2 * to.group)
    fill_groups(x, line + i, 2 * LANES, k0, k, pairs, to, 2);
  for (; i < lines; i += LANES, to.to += to.group)
    fill_groups(x, line + i, min64(LANES, lines - i), k0, k, pairs, to, 1);
}

void CPU(gemm_fill_panels)(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                           bool pairs, PanelTarget target) {
  if (x->k_stride != 1) {
    if (pairs)
      fill_dense_lines(x, line, lines, k0, k, true, target);
    else
      fill_dense_lines(x, line, lines, k0, k, false, target);
    return;
  }
  for (int64_t i = 0; i < lines; i += LANES) {
    if (pairs)
      fill_dense_k(x, line + i, lines - i, k0, k, true, &target, i / LANES);
    else
      fill_dense_k(x, line + i, lines - i, k0, k, false, &target, i / LANES);
  }
}
