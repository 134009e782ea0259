/* attention_panels.h -- softmax(scale q k^T) v of panels of 48 queries by blocks of keys, with the
 * running highest score and sum of FlashAttention (arXiv:2205.14135): for attention.c and
 * cache_panels.c. */
#ifndef LOCKSTEP_KERNELS_CPU_ATTENTION_PANELS_H
#define LOCKSTEP_KERNELS_CPU_ATTENTION_PANELS_H

#include <float.h>
#include <math.h>

#include "kernels/cpu/attention.h"

/* One thread's blocks. A panel of q, and of out, begins 48 padded heads after the previous one. */
typedef struct Scratch {
  float *q;
  float *out; /* [head][48]: transposed, not yet normalised */
  float *k, *v;
  float *scores; /* then probabilities */
  float *paired;
  float *highest, *sum; /* 48 a panel */
} Scratch;

/* Where a panel of q or of out begins. */
static inline int64_t panel_first(const Attention *a, int64_t panel) {
  return panel * QUERY_PANEL * a->padded;
}

/* A panel of queries against a block of keys. */
typedef struct AttentionStep {
  const Attention *a;
  int64_t b, h;
  int64_t q0, queries; /* of the panel */
  int64_t k0, keys;    /* the keys that the panel's last query sees */
  bool is_first;       /* of the blocks that the panel meets */
} AttentionStep;

/* The highest of `high` and the scores of keys [from, to). */
ALWAYS_INLINE Vec highest_of(const float *column, Vec scale, Vec high, int64_t from, int64_t to) {
  for (int64_t key = from; key < to; key++)
    high = v_max(high, v_mul(v_load(column + key * QUERY_PANEL), scale));
  return high;
}

/* The same of the keys that each query sees; k0: the number of the column's first key. */
ALWAYS_INLINE Vec highest_seen(const float *column, Vec scale, Vec high, int64_t from, int64_t to,
                               SeenKeys seen, int64_t k0) {
  for (int64_t key = from; key < to; key++)
    high = v_max(high, if_seen(seen, k0 + key, v_mul(v_load(column + key * QUERY_PANEL), scale),
                               v_set(-INFINITY)));
  return high;
}

/* Turns the scores of keys [from, to) into exp(score + minus); returns `total` and their sum. */
ALWAYS_INLINE Vec exp_of(float *column, Vec scale, Vec minus, Vec total, int64_t from, int64_t to) {
  for (int64_t key = from; key < to; key++) {
    Vec p = v_exp(v_fma(v_load(column + key * QUERY_PANEL), scale, minus));
    total = v_add(total, p);
    v_store(column + key * QUERY_PANEL, p);
  }
  return total;
}

ALWAYS_INLINE Vec exp_seen(float *column, Vec scale, Vec minus, Vec total, int64_t from, int64_t to,
                           SeenKeys seen, int64_t k0) {
  for (int64_t key = from; key < to; key++) {
    Vec p = v_exp(v_fma(v_load(column + key * QUERY_PANEL), scale, minus));
    p = if_seen(seen, k0 + key, p, v_set(0));
    total = v_add(total, p);
    v_store(column + key * QUERY_PANEL, p);
  }
  return total;
}

/* The keys that the queries of a column see: all of them see [first, end). */
typedef struct ColumnKeys {
  SeenKeys each;
  int64_t first, end;
} ColumnKeys;

/* Turns column j's scores into exp(score - highest), adds to the sums, returns what the earlier
 * sums must be multiplied by. */
static inline Vec softmax_column(const AttentionStep *t, float *scores, int64_t j, ColumnKeys see,
                                 float *highest, float *sum) {
  const Attention *a = t->a;
  int64_t keys = t->keys, k0 = t->k0;
  float *column = scores + j * LANES;
  Vec scale = v_set(a->scale), old = v_load(highest + j * LANES);
  int64_t from = min64(max64(see.first - k0, 0), keys);
  int64_t to = max64(min64(see.end - k0, keys), from);
  const SeenKeys seen = see.each;
  if (a->softcap > 0) {
    scale = v_set(1);
    for (int64_t key = 0; key < keys; key++)
      v_store(column + key * QUERY_PANEL, capped_score(a, v_load(column + key * QUERY_PANEL)));
  }
  Vec high = highest_seen(column, scale, old, 0, from, seen, k0);
  high = highest_of(column, scale, high, from, to);
  high = highest_seen(column, scale, high, to, keys, seen, k0);
  Vec minus = v_neg(high), total = exp_seen(column, scale, minus, v_set(0), 0, from, seen, k0);
  total = exp_of(column, scale, minus, total, from, to);
  total = exp_seen(column, scale, minus, total, to, keys, seen, k0);
  Vec correction = v_exp(v_sub(old, high));
  v_store(highest + j * LANES, high);
  v_store(sum + j * LANES, v_fma(v_load(sum + j * LANES), correction, total));
  return correction;
}

/* The panel's scores of the block of keys. */
static inline void find_scores(const AttentionStep *t, Scratch *s, int64_t panel, int64_t vectors) {
  gemm_panel(t->a->kind, &(PanelTask){.a = s->k,
                                      .depth = t->a->units,
                                      .rows = t->keys,
                                      .b = s->q + panel_first(t->a, panel),
                                      .columns = vectors * LANES,
                                      .end = t->a->units,
                                      .sums = s->scores});
}

/* Probabilities as a panel: f32 unchanged (when 48 wide), else in units of the panel. */
static inline const float *panel_of_probabilities(const AttentionStep *t, Scratch *s,
                                                  int64_t vectors) {
  float *p = s->scores;
  int64_t units = gemm_units(t->a->kind, t->keys);
  if (!t->a->kind.pairs) {
    for (int64_t i = 0; t->a->kind.tf32 && i < t->keys * QUERY_PANEL; i += LANES)
      v_store(p + i, v_tf32(v_load(p + i)));
    if (vectors < QUERY_VECTORS)
      for (int64_t key = 0; key < t->keys; key++)
        memmove(p + key * vectors * LANES, p + key * QUERY_PANEL,
                (size_t)(vectors * LANES) * sizeof *p);
    return p;
  }
  for (int64_t key = 0; key < t->keys; key += 2)
    for (int64_t j = 0; j < vectors; j++) {
      const float *first = p + key * QUERY_PANEL + j * LANES;
      Vec second = key + 1 < t->keys ? v_load(first + QUERY_PANEL) : v_set(0);
      v_store(s->paired + (key / 2 * vectors + j) * LANES, v_pairs(v_load(first), second));
    }
  int64_t pairs = (t->keys + 1) / 2, row = vectors * LANES;
  memset(s->paired + pairs * row, 0, (size_t)((units - pairs) * row) * sizeof *s->paired);
  return s->paired;
}

/* out[element][query] = v^T p, added to what blocks before gave, corrected. `depth`: units of v. */
static inline void add_values(const AttentionStep *t, Scratch *s, int64_t panel, int64_t depth,
                              int64_t vectors, const Vec *correction) {
  const Attention *a = t->a;
  int64_t step = gemm_rows(a->kind);
  float sums[ROWS_MAX * QUERY_PANEL] __attribute__((aligned(64)));
  PanelTask task = {.a = s->v,
                    .depth = depth,
                    .b = panel_of_probabilities(t, s, vectors),
                    .columns = vectors * LANES,
                    .end = gemm_units(a->kind, t->keys),
                    .sums = sums};
  for (; task.row < a->head; task.row += step) {
    task.rows = min64(step, a->padded - task.row);
    gemm_panel(a->kind, &task);
    for (int64_t i = 0; i < task.rows; i++)
      for (int64_t j = 0; j < vectors; j++) {
        float *out = s->out + panel_first(a, panel) + (task.row + i) * QUERY_PANEL + j * LANES;
        Vec add = v_load(sums + i * QUERY_PANEL + j * LANES);
        v_store(out, t->is_first ? add : v_fma(v_load(out), correction[j], add));
      }
  }
}

static inline void begin_sums(Scratch *s, int64_t panel) {
  for (int i = 0; i < QUERY_PANEL; i++) {
    s->highest[panel * QUERY_PANEL + i] = -FLT_MAX; /* finite, for queries that see no key */
    s->sum[panel * QUERY_PANEL + i] = 0;
  }
}

#endif
