/* attention_backward.c -- probabilities come back as exp(score - lse), block by block
 * (arXiv:2205.14135). One task is one head of k and v with all query heads of its group, so no two
 * tasks add to one element.
 *
 * With p the probabilities and keep dropout's factors: d_v = (p keep)^T d_out, d_p = d_out v^T,
 * d_s = scale p (keep d_p - delta), times softcap's slope at the score; delta = sum over the head
 * of d_out out; d_q = d_s k, d_k = d_s^T q. A pair that is masked adds nothing: no key's block
 * meets queries before the first or after the last that sees one of its keys, and p becomes 0
 * whatever lse is. */
#include "kernels/cpu/attention.h"

/* One thread's blocks. */
typedef struct BackwardScratch {
  float *k, *v;     /* rows: keys */
  float *k_flipped; /* rows: elements of the head */
  float *d_k, *d_v; /* [keys][padded] */
  float *q, *d_out; /* panels, 48 padded heads apart */
  float *q_flipped, *d_out_flipped;
  /* Scores' gradients as they come out of the element-wise part, in the type they are multiplied
   * in: f32, or bf16 in half the room. */
  void *p, *d_s; /* [keys][slope_row] */
  float *panel_units;
  float *last_key; /* the last key that each query of the panel sees */
} BackwardScratch;

typedef struct Backward {
  Attention a;
  BackwardBlocks blocks;
  int64_t group;
  int32_t scratch; /* operand */
} Backward;

/* The current block of a task; changes as it goes through groups and blocks. */
typedef struct Task {
  const Attention *a;
  const BackwardBlocks *blocks;
  float *memory; /* the thread's */
  BackwardScratch s;
  float *d_q;   /* of head h: [panels][padded][48] */
  float *delta; /* of head h: [seq] */
  int64_t b, h, kv_head;
  int64_t k0, keys;
  int64_t q0, queries; /* block */
} Task;

static Factor operand_head(const Task *t, int32_t i) {
  const int64_t *dim = t->a->args->dim;
  int64_t dense = t->a->heads * t->a->head;
  switch (i) {
  case 1: return head_tokens(t->a, 1, t->b, t->h, dim[5]);
  case 2: return head_tokens(t->a, 2, t->b, t->kv_head, dim[6]);
  case 3: return head_tokens(t->a, 3, t->b, t->kv_head, dim[7]);
  default: return head_tokens(t->a, i, t->b, t->h, dense); /* d_out, out */
  }
}

static void row_terms(const Task *t) {
  Factor d_out = operand_head(t, 0), out = operand_head(t, 4);
  for (int64_t i = 0; i < t->a->seq; i++) {
    Vec sum = v_set(0);
    for (int64_t d = 0; d < t->a->head; d += LANES) {
      int64_t n = t->a->head - d;
      sum = v_fma(v_get_n(d_out.data, i * d_out.line_stride + d, n, d_out.dtype),
                  v_get_n(out.data, i * out.line_stride + d, n, out.dtype), sum);
    }
    t->delta[i] = v_sum(sum);
  }
}

static void put_slope(const Task *t, void *to, int64_t key, int64_t column, Vec x) {
  int64_t at = key * t->blocks->slope_row + column;
  if (t->a->kind.pairs)
    v_store_bf16((uint16_t *)to + at, x);
  else
    v_store((float *)to + at, x);
}

/* Eight keys of one column of sixteen queries: p and d_s from the scores and d_p. */
static void slope_rows(const Task *t, int64_t panel, int64_t j, int64_t key, const float *scores,
                       const float *d_p, const float *first_key_of) {
  const Attention *a = t->a;
  int64_t column = panel * QUERY_PANEL + j * LANES, q0 = t->q0 + column;
  int64_t n = min64(LANES, t->q0 + t->queries - q0);
  const float *lse_at = (const float *)a->args->operand[5] + (t->b * a->heads + t->h) * a->seq;
  Vec minus = v_neg(v_get_n(lse_at, q0, n, DTYPE_F32)), delta = v_get_n(t->delta, q0, n, DTYPE_F32);
  const float *last_key = t->s.last_key + j * LANES;
  SeenKeys seen = {v_load(first_key_of + j * LANES), v_load(last_key)};
  Vec scale = v_set(a->scale), zero = v_set(0), one = v_set(1);
  bool masked = (float)(t->k0 + key + PANEL_ROWS - 1) > *last_key || /* the first query's */
                (float)(t->k0 + key) < first_key_of[j * LANES + LANES - 1];
  float keep[PANEL_ROWS][LANES];
  if (a->drop) {
    keep_factors(a, t->b, t->h, q0, t->k0 + key, keep);
    keep_factors(a, t->b, t->h, q0, t->k0 + key + 4, keep + 4);
  }
  for (int64_t i = 0; i < PANEL_ROWS; i++) {
    int64_t from = i * QUERY_PANEL + j * LANES;
    Vec score = v_load(scores + from), slope = v_load(d_p + from), capped = zero, p;
    if (a->softcap > 0) {
      capped = capped_score(a, score);
      p = v_exp(v_add(capped, minus));
      capped = v_mul(capped, v_set(1 / a->softcap));
    } else {
      p = v_exp(v_fma(score, scale, minus));
    }
    if (n < LANES) p = v_keep_n(p, n, zero);
    if (masked) p = if_seen(seen, t->k0 + key + i, p, zero);
    Vec kept = p;
    if (a->drop) {
      kept = v_keep_product(p, v_load(keep[i]));
      slope = v_keep_product(slope, v_load(keep[i]));
    }
    put_slope(t, t->s.p, key + i, column, kept);
    Vec d_s = v_mul(v_mul(p, v_sub(slope, delta)), scale);
    if (a->softcap > 0) d_s = v_mul(d_s, v_sub(one, v_mul(capped, capped)));
    put_slope(t, t->s.d_s, key + i, column, d_s);
  }
}

/* Keys of the block that the last of these queries of the block sees: one at least, for blocks of
 * queries begin at a panel with a query that sees the first key. */
static int64_t seen_keys(const Task *t, int64_t first, int64_t queries) {
  return min64(t->keys, visible_keys(t->a, t->q0 + first + queries - 1) - t->k0);
}

/* Keys of the block before the first that one of these queries sees: whole runs of `step`. */
static int64_t passed_keys(const Task *t, int64_t first, int64_t step) {
  return max64(0, first_key(t->a, t->b, t->q0 + first) - t->k0) / step * step;
}

/* Keys [from, to), which no query of the panel sees. */
static void zero_slopes(const Task *t, int64_t panel, int64_t vectors, int64_t from, int64_t to) {
  for (int64_t key = from; key < to; key++)
    for (int64_t j = 0; j < vectors; j++) {
      put_slope(t, t->s.p, key, panel * QUERY_PANEL + j * LANES, v_set(0));
      put_slope(t, t->s.d_s, key, panel * QUERY_PANEL + j * LANES, v_set(0));
    }
}

/* p and d_s of one panel of queries against the block of keys; keys no query sees become 0. */
static void slope_panel(const Task *t, int64_t panel) {
  const Attention *a = t->a;
  const BackwardScratch *s = &t->s;
  int64_t first = panel * QUERY_PANEL, queries = min64(QUERY_PANEL, t->queries - first);
  int64_t vectors = ceil_div(queries, LANES), step = gemm_rows(a->kind);
  int64_t seen = ceil_div(seen_keys(t, first, queries), PANEL_ROWS) * PANEL_ROWS;
  int64_t key = min64(passed_keys(t, first, step), seen);
  float scores[ROWS_MAX * QUERY_PANEL] __attribute__((aligned(64)));
  float d_p[ROWS_MAX * QUERY_PANEL] __attribute__((aligned(64)));
  PanelTask by_k = {.a = s->k,
                    .row = key,
                    .depth = a->units,
                    .b = s->q + panel * QUERY_PANEL * a->padded,
                    .columns = vectors * LANES,
                    .end = a->units,
                    .sums = scores};
  PanelTask by_v = by_k;
  by_v.a = s->v;
  by_v.b = s->d_out + panel * QUERY_PANEL * a->padded;
  by_v.sums = d_p;
  float first_key_of[QUERY_PANEL] __attribute__((aligned(64)));
  for (int64_t j = 0; j < vectors; j++) {
    v_store(s->last_key + j * LANES, last_keys(a, t->q0 + first + j * LANES));
    v_store(first_key_of + j * LANES, first_keys(a, t->b, t->q0 + first + j * LANES));
  }
  zero_slopes(t, panel, vectors, 0, key);
  for (; by_k.row < seen; by_v.row = by_k.row += step) {
    by_v.rows = by_k.rows = min64(step, seen - by_k.row);
    gemm_panel(a->kind, &by_k);
    gemm_panel(a->kind, &by_v);
    for (int64_t i = 0; i < by_k.rows; i += PANEL_ROWS, key += PANEL_ROWS)
      for (int64_t j = 0; j < vectors; j++)
        slope_rows(t, panel, j, key, scores + i * QUERY_PANEL, d_p + i * QUERY_PANEL, first_key_of);
  }
  zero_slopes(t, panel, vectors, key, t->keys);
}

static Factor slopes_factor(const Task *t, const void *slopes) {
  return (Factor){slopes, t->blocks->slope_row, 1, t->a->kind.pairs};
}

/* Units of the first `n` terms of a sum, which are 0: they may be left out. */
static int64_t empty_units(GemmKind kind, int64_t n) {
  int64_t units = kind.pairs ? n / 2 : n;
  return kind.tiles ? units / TILE_UNITS * TILE_UNITS : units;
}

/* Units of queries before the first that sees `key`. */
static int64_t unseen_units(const Task *t, int64_t key) {
  return empty_units(t->a->kind, max64(0, first_query(t->a, t->k0 + key) - t->q0));
}

/* Units of queries up to the last that sees `key`. */
static int64_t met_units(const Task *t, int64_t key) {
  int64_t end = max64(0, end_query(t->a, t->b, t->k0 + key) - t->q0);
  return gemm_units(t->a->kind, min64(end, t->queries));
}

/* to[key][head] += slopes^T . flipped, over the block's queries. */
static void add_key_gradient(const Task *t, const void *slopes, const float *flipped, float *to) {
  const Attention *a = t->a;
  Factor rows = slopes_factor(t, slopes);
  int64_t units = gemm_units(a->kind, t->queries), step = gemm_rows(a->kind);
  float sums[ROWS_MAX * PANEL_COLUMNS] __attribute__((aligned(64)));
  CPU(gemm_fill_row_panels)(a->kind, &rows, 0, t->keys, 0, t->queries, t->s.panel_units);
  for (int64_t d = 0; d < a->head; d += PANEL_COLUMNS) {
    int64_t vectors = ceil_div(min64(PANEL_COLUMNS, a->head - d), LANES);
    PanelTask task = {.a = t->s.panel_units,
                      .depth = units,
                      .b = flipped + d * units,
                      .columns = vectors * LANES,
                      .end = units,
                      .sums = sums};
    for (; task.row < t->keys; task.row += step) {
      task.first = unseen_units(t, task.row);
      if (task.first >= units) break; /* no query sees the keys after these either */
      task.rows = min64(step, t->keys - task.row);
      task.end = met_units(t, task.row + task.rows - 1);
      if (task.end <= task.first) continue;
      gemm_panel(a->kind, &task);
      for (int64_t i = 0; i < task.rows; i++)
        for (int64_t j = 0; j < vectors; j++) {
          float *sum = to + (task.row + i) * a->padded + d + j * LANES;
          v_store(sum, v_add(v_load(sum), v_load(sums + i * PANEL_COLUMNS + j * LANES)));
        }
    }
  }
}

/* d_q[head][query] += k^T . d_s, over the block's keys. */
static void add_query_gradient(const Task *t, int64_t panel) {
  const Attention *a = t->a;
  int64_t first = panel * QUERY_PANEL, queries = min64(QUERY_PANEL, t->queries - first);
  int64_t seen = seen_keys(t, first, queries), step = gemm_rows(a->kind);
  int64_t vectors = ceil_div(queries, LANES);
  float sums[ROWS_MAX * QUERY_PANEL] __attribute__((aligned(64)));
  Factor columns = flip(slopes_factor(t, t->s.d_s));
  CPU(gemm_fill_column_panels)
  (a->kind, &columns, first, vectors * LANES, 0, seen, t->s.panel_units);
  float *d_q = t->d_q + (t->q0 + first) / QUERY_PANEL * a->padded * QUERY_PANEL;
  PanelTask task = {.a = t->s.k_flipped,
                    .depth = gemm_units(a->kind, t->keys),
                    .b = t->s.panel_units,
                    .columns = vectors * LANES,
                    .first = empty_units(a->kind, passed_keys(t, first, step)),
                    .end = gemm_units(a->kind, seen),
                    .sums = sums};
  if (task.first >= task.end) return;
  for (; task.row < a->head; task.row += step) {
    task.rows = min64(step, a->padded - task.row);
    gemm_panel(a->kind, &task);
    for (int64_t i = 0; i < task.rows; i++)
      for (int64_t j = 0; j < vectors; j++) {
        float *sum = d_q + (task.row + i) * QUERY_PANEL + j * LANES;
        Vec add = v_load(sums + i * QUERY_PANEL + j * LANES);
        v_store(sum, v_add(v_load(sum), add));
      }
  }
}

static void query_block(const Task *t) {
  const Attention *a = t->a;
  const BackwardScratch *s = &t->s;
  Factor q = operand_head(t, 1), d_out = operand_head(t, 0);
  Factor q_flipped = flip(q), d_out_flipped = flip(d_out);
  int64_t units = gemm_units(a->kind, t->queries), panels = ceil_div(t->queries, QUERY_PANEL);
  for (int64_t p = 0; p < panels; p++) {
    int64_t first = p * QUERY_PANEL, count = min64(QUERY_PANEL, t->queries - first);
    int64_t panel = first * a->padded;
    CPU(gemm_fill_column_panels)(a->kind, &q, t->q0 + first, count, 0, a->head, s->q + panel);
    CPU(gemm_fill_column_panels)
    (a->kind, &d_out, t->q0 + first, count, 0, a->head, s->d_out + panel);
    slope_panel(t, p);
  }
  for (int64_t d = 0; d < a->head; d += PANEL_COLUMNS) {
    int64_t count = min64(PANEL_COLUMNS, a->head - d);
    CPU(gemm_fill_column_panels)
    (a->kind, &q_flipped, d, count, t->q0, t->queries, s->q_flipped + d * units);
    CPU(gemm_fill_column_panels)
    (a->kind, &d_out_flipped, d, count, t->q0, t->queries, s->d_out_flipped + d * units);
  }
  add_key_gradient(t, s->p, s->d_out_flipped, s->d_v);
  add_key_gradient(t, s->d_s, s->q_flipped, s->d_k);
  for (int64_t p = 0; p < panels; p++)
    add_query_gradient(t, p);
}

static void write_keys(const Task *t, const float *from, int32_t i, int64_t stride) {
  const Attention *a = t->a;
  DType dtype = (DType)a->args->dtype[i];
  for (int64_t key = 0; key < t->keys; key++) {
    int64_t to = (t->b * a->seq + t->k0 + key) * stride + t->kv_head * a->head;
    for (int64_t d = 0; d < a->head; d += LANES)
      v_put_n(a->args->operand[i], to + d, a->head - d, dtype, v_load(from + key * a->padded + d));
  }
}

static void write_query_gradients(const Task *t) {
  const Attention *a = t->a;
  int64_t stride = a->args->dim[8];
  float one[QUERY_PANEL];
  for (int i = 0; i < QUERY_PANEL; i++)
    one[i] = 1;
  for (int64_t q = 0; q < a->seq; q += QUERY_PANEL)
    write_queries(a, t->d_q + q * a->padded, one, min64(QUERY_PANEL, a->seq - q),
                  a->args->operand[6], (t->b * a->seq + q) * stride + t->h * a->head, stride,
                  (DType)a->args->dtype[6]);
}

/* Sets t to the group's member-th query head. */
static void select_head(Task *t, const Backward *f, int64_t member) {
  t->h = t->kv_head * f->group + member;
  t->d_q = t->memory + f->blocks.d_q + member * f->blocks.d_q_next;
  t->delta = t->memory + f->blocks.delta + member * f->blocks.delta_next;
}

/* Where the blocks of queries that meet the keys from k0 on begin: at a panel. */
static int64_t first_block(const Attention *a, int64_t k0) {
  int64_t first = first_query(a, k0);
  return (first < a->seq ? first / QUERY_PANEL : ceil_div(a->seq, QUERY_PANEL)) * QUERY_PANEL;
}

static void key_block(Task *t, const Backward *f) {
  const Attention *a = t->a;
  const BackwardScratch *s = &t->s;
  Factor k = operand_head(t, 2), v = operand_head(t, 3), k_flipped = flip(k);
  CPU(gemm_fill_row_panels)(a->kind, &k, t->k0, t->keys, 0, a->head, s->k);
  CPU(gemm_fill_row_panels)(a->kind, &v, t->k0, t->keys, 0, a->head, s->v);
  CPU(gemm_fill_row_panels)(a->kind, &k_flipped, 0, a->head, t->k0, t->keys, s->k_flipped);
  int64_t first = first_block(a, t->k0), end = end_query(a, t->b, t->k0 + t->keys - 1);
  memset(s->d_k, 0, (size_t)(t->keys * a->padded) * sizeof *s->d_k);
  memset(s->d_v, 0, (size_t)(t->keys * a->padded) * sizeof *s->d_v);
  for (int64_t member = 0; member < f->group; member++) {
    select_head(t, f, member);
    for (t->q0 = first; t->q0 < end; t->q0 += BACKWARD_QUERIES) {
      t->queries = min64(BACKWARD_QUERIES, a->seq - t->q0);
      query_block(t);
    }
  }
  write_keys(t, s->d_k, 7, a->args->dim[9]);
  write_keys(t, s->d_v, 8, a->args->dim[10]);
}

static BackwardScratch scratch_at(const BackwardBlocks *b, float *at) {
  return (BackwardScratch){.k = at + b->k,
                           .v = at + b->v,
                           .k_flipped = at + b->k_flipped,
                           .d_k = at + b->d_k,
                           .d_v = at + b->d_v,
                           .q = at + b->q,
                           .d_out = at + b->d_out,
                           .q_flipped = at + b->q_flipped,
                           .d_out_flipped = at + b->d_out_flipped,
                           .p = at + b->p,
                           .d_s = at + b->d_s,
                           .panel_units = at + b->panel_units,
                           .last_key = at + b->last_key};
}

static void head_task(void *context, int64_t task, int32_t worker) {
  const Backward *f = (const Backward *)context;
  const Attention *a = &f->a;
  Task t = {.a = a, .blocks = &f->blocks, .b = task / a->kv_heads, .kv_head = task % a->kv_heads};
  t.memory =
      attention_part(a->args, f->scratch, f->blocks.thread_bytes, f->blocks.threads, task, worker);
  t.s = scratch_at(&f->blocks, t.memory);
  for (int64_t member = 0; member < f->group; member++) {
    select_head(&t, f, member);
    row_terms(&t);
    memset(t.d_q, 0,
           (size_t)(ceil_div(a->seq, QUERY_PANEL) * QUERY_PANEL * a->padded) * sizeof *t.d_q);
  }
  CPU(gemm_begin)(a->kind);
  for (t.k0 = 0; t.k0 < a->seq; t.k0 += KEY_BLOCK) {
    t.keys = min64(KEY_BLOCK, a->seq - t.k0);
    key_block(&t, f);
  }
  CPU(gemm_end)(a->kind);
  for (int64_t member = 0; member < f->group; member++) {
    select_head(&t, f, member);
    write_query_gradients(&t);
  }
}

/* scratch: its operand. False: the reference must run. */
static bool run_fast(const KernelArgs *args, const int32_t *begin, int32_t scratch) {
  bool bf16 = true;
  for (int i = 0; i < 4; i++)
    bf16 = bf16 && args->dtype[i] == DTYPE_BF16;
  if (!cpu_floats(args, 9, 1u << 5) || args->dtype[5] != DTYPE_F32 || args->dim[4] > HEAD_MAX)
    return false;
  Backward f = {.a = attention_of(args, bf16),
                .blocks = backward_blocks(args->dim, threads_count(args->threads)),
                .group = args->dim[2] / args->dim[3],
                .scratch = scratch};
  f.a.begin = begin;
  if (cpu_scratch_bytes(args, scratch) < f.blocks.threads * f.blocks.thread_bytes) return false;
  threads_run(args->threads, f.a.batch * f.a.kv_heads, head_task, &f);
  return true;
}

void CPU(attention_backward)(const KernelArgs *args) {
  if (!run_fast(args, NULL, 9)) reference_attention_backward(args);
}

void CPU(attention_apart_backward)(const KernelArgs *args) {
  if (!run_fast(args, (const int32_t *)args->operand[9], 10))
    reference_attention_apart_backward(args);
}
