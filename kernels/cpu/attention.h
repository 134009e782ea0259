/* attention.h -- what attention's forward and backward share.
 *
 * Scores are kept transposed, keys down and 48 queries across, so that a query is a lane: its
 * highest score and its sum need no reduction across lanes, and a block of probabilities is already
 * a panel of the product with v (gemm.h).
 *
 * A query sees a range of k, because positions ascend: under a causal mask it ends before
 * visible_keys, with a window or documents it begins at first_key. Both grow with the query, so
 * that masked keys are skipped by counts of keys and queries, wherever the tokens are in the
 * sequence. */
#ifndef LOCKSTEP_KERNELS_CPU_ATTENTION_H
#define LOCKSTEP_KERNELS_CPU_ATTENTION_H

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/philox_lanes.h"
#include "kernels/runs.h"

enum { QUERY_VECTORS = QUERY_PANEL / LANES };

typedef struct Attention {
  const KernelArgs *args;
  int64_t batch, seq, heads, kv_heads, head;
  int64_t padded; /* head, rounded up to 16 */
  int64_t units;  /* of one row of q or k */
  GemmKind kind;
  bool causal, drop;
  int64_t window;       /* 0: none */
  const int32_t *begin; /* by token: the position of the first key it sees; NULL: 0 */
  float scale, keep_scale, softcap;
  Runs q_runs, k_runs;                    /* positions of q's tokens, and of k's and v's */
  int64_t head_first, all_heads, all_seq; /* of the whole that dropout is numbered by */
  uint64_t key;
  uint32_t threshold;
} Attention;

static inline Attention attention_of(const KernelArgs *args, bool all_bf16) {
  const int64_t *dim = args->dim;
  Attention a = {.args = args, .batch = dim[0], .seq = dim[1], .heads = dim[2]};
  a.kv_heads = dim[3];
  a.head = dim[4];
  a.padded = ceil_div(a.head, LANES) * LANES;
  a.kind = gemm_kind(all_bf16, args->tf32);
  a.units = gemm_units(a.kind, a.head);
  const double *attr = args->attr;
  a.causal = attr[0] != 0;
  a.window = (int64_t)attr[10];
  a.softcap = (float)attr[11];
  a.scale = (float)attr[1];
  a.q_runs = (Runs){a.seq, (int64_t)attr[3], (int64_t)attr[4]};
  a.k_runs = (Runs){a.seq, (int64_t)attr[5], (int64_t)attr[6]};
  a.head_first = (int64_t)attr[7];
  a.all_heads = (int64_t)attr[8];
  a.all_seq = (int64_t)attr[9];
  a.threshold = philox_threshold(attr[2]);
  a.drop = a.threshold > 0;
  a.keep_scale = (float)(1 / (1 - attr[2]));
  if (a.drop) a.key = philox_mix(kernel_seed(args), args->key);
  return a;
}

/* A thread's part of the scratch. With fewer tasks than threads the parts are the tasks'. */
static inline float *attention_part(const KernelArgs *args, int32_t operand, int64_t thread_bytes,
                                    int64_t parts, int64_t task, int32_t worker) {
  int64_t part = parts < threads_count(args->threads) ? task : worker;
  return (float *)((char *)args->operand[operand] + part * thread_bytes);
}

/* One head of operand `i`, whose tokens are `stride` apart: lines are tokens, k runs over the head.
 */
static inline Factor head_tokens(const Attention *a, int32_t i, int64_t b, int64_t h,
                                 int64_t stride) {
  DType dtype = (DType)a->args->dtype[i];
  int64_t first = b * a->seq * stride + h * a->head;
  return (Factor){at(a->args->operand[i], first, dtype), stride, 1, dtype};
}

/* The same head with its elements as lines and k running over the tokens. */
static inline Factor flip(Factor f) {
  return (Factor){f.data, f.k_stride, f.line_stride, f.dtype};
}

/* Query q sees the keys first_key .. visible_keys - 1. Both grow with q. */
static inline int64_t visible_keys(const Attention *a, int64_t q) {
  return a->causal ? runs_before(a->k_runs, runs_position(a->q_runs, q) + 1) : a->seq;
}
static inline int64_t first_key(const Attention *a, int64_t b, int64_t q) {
  int64_t bound = a->window > 0 ? runs_position(a->q_runs, q) - a->window + 1 : 0;
  if (a->begin) bound = max64(bound, a->begin[b * a->seq + min64(q, a->seq - 1)]);
  return bound > 0 ? runs_before(a->k_runs, bound) : 0;
}

/* Queries first_query .. end_query - 1 see key `key`, if any does. */
static inline int64_t first_query(const Attention *a, int64_t key) {
  return a->causal ? runs_before(a->q_runs, runs_position(a->k_runs, key)) : 0;
}
static inline int64_t end_query(const Attention *a, int64_t b, int64_t key) {
  int64_t position = runs_position(a->k_runs, key), end = a->seq, low = 0;
  if (a->window > 0) end = runs_before(a->q_runs, position + a->window);
  if (a->begin == NULL) return end;
  while (low < end) { /* begin never falls along the queries */
    int64_t middle = (low + end) / 2;
    if (a->begin[b * a->seq + middle] > position)
      end = middle;
    else
      low = middle + 1;
  }
  return end;
}

/* The first and the last key each of the queries q0 .. q0+15 sees, for comparing with a key's
 * number. */
typedef struct SeenKeys {
  Vec first, last;
} SeenKeys;

static inline Vec last_keys(const Attention *a, int64_t q0) {
  float number[LANES];
  for (int l = 0; l < LANES; l++)
    number[l] = (float)(visible_keys(a, q0 + l) - 1);
  return v_load(number);
}
static inline Vec first_keys(const Attention *a, int64_t b, int64_t q0) {
  float number[LANES] = {0};
  for (int l = 0; l < LANES && (a->window > 0 || a->begin); l++)
    number[l] = (float)first_key(a, b, q0 + l);
  return v_load(number);
}

/* x where the query sees the key, else `hidden`. */
ALWAYS_INLINE Vec if_seen(SeenKeys seen, int64_t key, Vec x, Vec hidden) {
  Vec number = v_set((float)key);
  return v_less_select(seen.last, number, hidden, v_less_select(number, seen.first, hidden, x));
}

/* softcap tanh(x / softcap), x being the score that `scale` makes of a product. */
ALWAYS_INLINE Vec capped_score(const Attention *a, Vec product) {
  return v_mul(v_set(a->softcap), v_tanh(v_mul(product, v_set(a->scale / a->softcap))));
}

/* Dropout's factors for keys j .. j+3 (rows) and queries q0 .. q0+15 (lanes); j % 4 is 0. */
static inline void keep_factors(const Attention *a, int64_t b, int64_t h, int64_t q0, int64_t j,
                                float keep[4][LANES]) {
  int64_t rows = ((*a->args->sample_first + b) * a->all_heads + a->head_first + h) * a->all_seq;
  int64_t row[LANES]; /* element of each query's position 0 */
  uint64_t step = (uint64_t)kernel_step(a->args);
  for (int l = 0; l < LANES; l++)
    row[l] = (rows + runs_position(a->q_runs, q0 + l)) * a->all_seq;
  int64_t position = runs_position(a->k_runs, j);
  bool in_a_row = runs_position(a->k_runs, j + 3) == position + 3;
  if (in_a_row && a->all_seq % 4 == 0 && position % 4 == 0) { /* they share a Philox block */
    uint64_t counter[LANES];
    uint32_t word[4][LANES];
    for (int l = 0; l < LANES; l++)
      counter[l] = (uint64_t)(row[l] + position) / 4;
    philox_lanes(a->key, step, counter, word);
    for (int w = 0; w < 4; w++)
      for (int l = 0; l < LANES; l++)
        keep[w][l] = word[w][l] >= a->threshold ? a->keep_scale : 0.0f;
    return;
  }
  for (int w = 0; w < 4; w++)
    for (int l = 0; l < LANES; l++) {
      int64_t element = row[l] + runs_position(a->k_runs, j + w);
      keep[w][l] = philox_keep(a->key, (int64_t)step, element, a->threshold) ? a->keep_scale : 0;
    }
}

/* Element d of query q is at from[d * 48 + q]: writes queries 0 .. count-1, each times
 * factor[q], as rows `stride` apart. */
static inline void write_queries(const Attention *a, const float *from, const float *factor,
                                 int64_t count, void *to, int64_t to_first, int64_t stride,
                                 DType dtype) {
  for (int64_t q = 0; q < count; q += LANES) {
    Vec scale = v_get_n(factor, q, min64(LANES, count - q), DTYPE_F32);
    for (int64_t d = 0; d < a->head; d += LANES) {
      Vec r[LANES];
      for (int i = 0; i < LANES; i++)
        r[i] = v_mul(v_load(from + (d + i) * QUERY_PANEL + q), scale);
      v_transpose16(r);
      for (int64_t i = 0; i < min64(LANES, count - q); i++)
        v_put_n(to, to_first + (q + i) * stride + d, a->head - d, dtype, r[i]);
    }
  }
}

#endif
