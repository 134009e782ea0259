/* attention.h -- what attention's forward and backward share.
 *
 * Scores are kept transposed, keys down and 48 queries across, so that a query is a lane: its
 * highest score and its sum need no reduction across lanes, and a block of probabilities is already
 * a panel of the product with v (gemm.h). */
#ifndef LOCKSTEP_KERNELS_CPU_ATTENTION_H
#define LOCKSTEP_KERNELS_CPU_ATTENTION_H

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/philox_lanes.h"

enum {
  HEAD_MAX = 128,
  KEY_BLOCK = 128,
  QUERY_PANEL = PANEL_COLUMNS,
  QUERY_VECTORS = QUERY_PANEL / LANES
};

typedef struct Attention {
  const KernelArgs *args;
  int64_t batch, seq, heads, kv_heads, head;
  int64_t padded; /* head, rounded up to 16 */
  int64_t units;  /* of one row of q or k */
  bool pairs, causal, drop;
  float scale, keep_scale;
  uint64_t key;
  uint32_t threshold;
} Attention;

static inline Attention attention_of(const KernelArgs *args, bool all_bf16) {
  const int64_t *dim = args->dim;
  Attention a = {.args = args, .batch = dim[0], .seq = dim[1], .heads = dim[2]};
  a.kv_heads = dim[3];
  a.head = dim[4];
  a.padded = ceil_div(a.head, LANES) * LANES;
  a.pairs = all_bf16 && CPU(gemm_has_pairs)();
  a.units = a.pairs ? ceil_div(a.head, 2) : a.head;
  a.causal = args->attr[0] != 0;
  a.scale = (float)args->attr[1];
  a.threshold = philox_threshold(args->attr[2]);
  a.drop = a.threshold > 0;
  a.keep_scale = (float)(1 / (1 - args->attr[2]));
  if (a.drop) a.key = philox_mix(args->control->seed, args->key);
  return a;
}

/* Units of `count` keys or queries that are summed over. */
static inline int64_t units_of(const Attention *a, int64_t count) {
  return a->pairs ? (count + 1) / 2 : count;
}

/* One head of operand `i`, whose tokens are `stride` apart: lines are tokens, k runs over the head.
 */
static inline Factor head_tokens(const Attention *a, int32_t i, int64_t b, int64_t h,
                                 int64_t stride) {
  bool bf16 = a->args->dtype[i] == DTYPE_BF16;
  int64_t first = b * a->seq * stride + h * a->head;
  return (Factor){at(a->args->operand[i], first, bf16), stride, 1, bf16};
}

/* The same head with its elements as lines and k running over the tokens. */
static inline Factor flip(Factor f) {
  return (Factor){f.data, f.k_stride, f.line_stride, f.bf16};
}

/* Lines first .. first+count-1 as panels of eight rows. */
static inline void pack_rows(const Attention *a, const Factor *f, int64_t first, int64_t count,
                             int64_t k0, int64_t k, float *to) {
  CPU(gemm_pack)(f, first, count, k0, k, a->pairs, pack_row_panels(to, units_of(a, k)));
}

/* Lines first .. first+count-1 as one panel of columns, count <= 48. */
static inline void pack_columns(const Attention *a, const Factor *f, int64_t first, int64_t count,
                                int64_t k0, int64_t k, float *to) {
  CPU(gemm_pack)(f, first, count, k0, k, a->pairs, pack_column_panel(to, count));
}

/* The numbers q0 .. q0+15, for comparing with a key's. */
ALWAYS_INLINE Vec query_numbers(int64_t q0) {
  float number[LANES];
  for (int l = 0; l < LANES; l++)
    number[l] = (float)(q0 + l);
  return v_load(number);
}

/* Dropout's factors for keys j .. j+3 (rows) and queries q0 .. q0+15 (lanes); j % 4 is 0. */
static inline void keep_factors(const Attention *a, int64_t b, int64_t h, int64_t q0, int64_t j,
                                float keep[4][LANES]) {
  int64_t row0 = ((a->args->sample_first + b) * a->heads + h) * a->seq + q0;
  uint64_t step = (uint64_t)a->args->control->step;
  if (a->seq % 4 == 0) { /* a row's four keys share a Philox block */
    uint64_t counter[LANES];
    uint32_t word[4][LANES];
    for (int l = 0; l < LANES; l++)
      counter[l] = (uint64_t)((row0 + l) * a->seq + j) / 4;
    philox_lanes(a->key, step, counter, word);
    for (int w = 0; w < 4; w++)
      for (int l = 0; l < LANES; l++)
        keep[w][l] = word[w][l] >= a->threshold ? a->keep_scale : 0.0f;
    return;
  }
  for (int w = 0; w < 4; w++)
    for (int l = 0; l < LANES; l++) {
      int64_t element = (row0 + l) * a->seq + j + w;
      keep[w][l] = philox_keep(a->key, (int64_t)step, element, a->threshold) ? a->keep_scale : 0;
    }
}

/* Element d of query q stands at from[d * 48 + q]: writes queries 0 .. count-1, each times
 * factor[q], as rows `stride` apart. */
static inline void write_queries(const Attention *a, const float *from, const float *factor,
                                 int64_t count, void *to, int64_t to_first, int64_t stride,
                                 bool bf16) {
  for (int64_t q = 0; q < count; q += LANES) {
    Vec scale = v_get_n(factor, q, min64(LANES, count - q), false);
    for (int64_t d = 0; d < a->head; d += LANES) {
      Vec r[LANES];
      for (int i = 0; i < LANES; i++)
        r[i] = v_mul(v_load(from + (d + i) * QUERY_PANEL + q), scale);
      v_transpose16(r);
      for (int64_t i = 0; i < min64(LANES, count - q); i++)
        v_put_n(to, to_first + (q + i) * stride + d, a->head - d, bf16, r[i]);
    }
  }
}

#endif
