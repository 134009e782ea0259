/* tile_sum.h -- sums in the order of tiles, one element at a time: what the kernels' tile paths are
 * held to, bit for bit. */
#ifndef LOCKSTEP_TESTS_TILE_SUM_H
#define LOCKSTEP_TESTS_TILE_SUM_H

#include <math.h>
#include <stdint.h>

#include "kernels/math/bf16.h"

/* Element (line, k) of a factor in bf16. */
typedef struct Lines {
  const uint16_t *data;
  int64_t line_stride, k_stride;
} Lines;

static inline float tile_element(const Lines *x, int64_t line, int64_t k, int64_t depth) {
  return k < depth ? bf16_to_float(x->data[line * x->line_stride + k * x->k_stride]) : 0;
}

/* Over elements first .. end-1 of k, as one register adds them: 32 at a time. */
static inline float tile_sum_block(const Lines *a, int64_t i, const Lines *b, int64_t j,
                                   int64_t first, int64_t end) {
  float c = 0;
  for (int64_t k = first; k < end; k += 32) {
    float even = 0, odd = 0;
    for (int64_t u = k; u < k + 32; u += 2) {
      even = fmaf(tile_element(a, i, u, end), tile_element(b, j, u, end), even);
      odd = fmaf(tile_element(a, i, u + 1, end), tile_element(b, j, u + 1, end), odd);
    }
    c += even + odd;
  }
  return c;
}

/* Blocks of so many elements are summed apart and added up. */
static inline float tile_sum(const Lines *a, int64_t i, const Lines *b, int64_t j, int64_t depth,
                             int64_t block) {
  float total = 0;
  for (int64_t k = 0; k < depth; k += block)
    total += tile_sum_block(a, i, b, j, k, k + block < depth ? k + block : depth);
  return total;
}

#endif
