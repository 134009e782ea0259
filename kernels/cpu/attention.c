/* attention.c -- out = dropout(softmax(scale q k^T)) v by blocks of keys, with the running highest
 * score and sum of FlashAttention (arXiv:2205.14135). One task is a block of queries of one head.
 */
#include "kernels/cpu/attention.h"

#include <float.h>
#include <math.h>

/* One thread's blocks. A panel of q, and of out, begins 48 padded heads after the one before. */
typedef struct Scratch {
  float *q;
  float *out; /* [head][48]: transposed, not yet normalised */
  float *k, *v;
  float *scores; /* then probabilities */
  float *paired;
  float *highest, *sum; /* 48 a panel */
} Scratch;

typedef struct Forward {
  Attention a;
  ForwardBlocks blocks;
  int32_t scratch; /* operand */
} Forward;

static Scratch scratch_of(const Forward *f, int64_t task, int32_t worker) {
  const ForwardBlocks *b = &f->blocks;
  float *at = attention_part(f->a.args, f->scratch, b->thread_bytes, b->threads, task, worker);
  return (Scratch){at + b->q,      at + b->out,    at + b->k,       at + b->v,
                   at + b->scores, at + b->paired, at + b->highest, at + b->sum};
}

/* Where a panel of q or of out begins. */
static int64_t panel_first(const Attention *a, int64_t panel) {
  return panel * QUERY_PANEL * a->padded;
}

/* A panel of queries against a block of keys. */
typedef struct AttentionStep {
  const Attention *a;
  int64_t b, h;
  int64_t q0, queries; /* of the panel */
  int64_t k0, keys;    /* that the panel's last query sees */
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

/* Turns column j's scores into exp(score - highest), adds to the sums, returns what the earlier
 * sums must be multiplied by. All queries see the keys [from, to) of the block. */
static Vec softmax_column(const AttentionStep *t, float *scores, int64_t j, float *highest,
                          float *sum) {
  const Attention *a = t->a;
  int64_t q0 = t->q0 + j * LANES, keys = t->keys, k0 = t->k0;
  float *column = scores + j * LANES;
  Vec scale = v_set(a->scale), old = v_load(highest + j * LANES);
  int64_t from = min64(max64(first_key(a, t->b, q0 + LANES - 1) - k0, 0), keys);
  int64_t to = max64(min64(visible_keys(a, q0) - k0, keys), from);
  SeenKeys seen = {first_keys(a, t->b, q0), last_keys(a, q0)};
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

static void drop_column(const AttentionStep *t, float *scores, int64_t j) {
  for (int64_t key = 0; key < t->keys; key += 4) {
    float keep[4][LANES];
    keep_factors(t->a, t->b, t->h, t->q0 + j * LANES, t->k0 + key, keep);
    for (int64_t w = 0; w < min64(4, t->keys - key); w++) {
      float *p = scores + (key + w) * QUERY_PANEL + j * LANES;
      v_store(p, v_keep_product(v_load(p), v_load(keep[w])));
    }
  }
}

/* Probabilities as a panel: f32 unchanged (when 48 wide), else in units of the panel. */
static const float *panel_of_probabilities(const AttentionStep *t, Scratch *s, int64_t vectors) {
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
static void add_values(const AttentionStep *t, Scratch *s, int64_t panel, int64_t depth,
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

static void panel_step(const AttentionStep *t, Scratch *s, int64_t panel, int64_t depth) {
  int64_t vectors = ceil_div(t->queries, LANES);
  Vec correction[QUERY_VECTORS];
  gemm_panel(t->a->kind, &(PanelTask){.a = s->k,
                                      .depth = t->a->units,
                                      .rows = t->keys,
                                      .b = s->q + panel_first(t->a, panel),
                                      .columns = vectors * LANES,
                                      .end = t->a->units,
                                      .sums = s->scores});
  for (int64_t j = 0; j < vectors; j++) {
    correction[j] = softmax_column(t, s->scores, j, s->highest + panel * QUERY_PANEL,
                                   s->sum + panel * QUERY_PANEL);
    if (t->a->drop) drop_column(t, s->scores, j);
  }
  add_values(t, s, panel, depth, vectors, correction);
}

static void write_panel(const AttentionStep *t, Scratch *s, int64_t panel) {
  const Attention *a = t->a;
  float *lse = (float *)a->args->operand[4] + (t->b * a->heads + t->h) * a->seq + t->q0;
  const float *sum = s->sum + panel * QUERY_PANEL, *highest = s->highest + panel * QUERY_PANEL;
  float factor[QUERY_PANEL];
  for (int64_t q = 0; q < t->queries; q++) {
    bool sees = visible_keys(a, t->q0 + q) > first_key(a, t->b, t->q0 + q);
    factor[q] = sees ? 1 / sum[q] : 0;
    lse[q] = sees ? highest[q] + logf(sum[q]) : -INFINITY;
  }
  int64_t stride = a->heads * a->head;
  int64_t first = (t->b * a->seq + t->q0) * stride + t->h * a->head;
  write_queries(a, s->out + panel_first(a, panel), factor, t->queries, a->args->operand[3], first,
                stride, (DType)a->args->dtype[3]);
}

/* The p-th panel of a block of queries. */
static AttentionStep panel_of(const AttentionStep *block, int64_t p) {
  AttentionStep panel = *block;
  panel.q0 += p * QUERY_PANEL;
  panel.queries = min64(QUERY_PANEL, block->q0 + block->queries - panel.q0);
  return panel;
}

static int64_t keys_seen(const AttentionStep *t) {
  return visible_keys(t->a, t->q0 + t->queries - 1);
}

/* The first key of the first block that has one which a query of the panel, or the block, sees. */
static int64_t keys_first(const AttentionStep *t) {
  return first_key(t->a, t->b, t->q0) / KEY_BLOCK * KEY_BLOCK;
}

static void begin_panel(const AttentionStep *t, Scratch *s, int64_t panel, const Factor *q) {
  CPU(gemm_fill_column_panels)
  (t->a->kind, q, t->q0, t->queries, 0, t->a->head, s->q + panel_first(t->a, panel));
  for (int i = 0; i < QUERY_PANEL; i++) {
    s->highest[panel * QUERY_PANEL + i] = -FLT_MAX; /* finite, for queries that see no key */
    s->sum[panel * QUERY_PANEL + i] = 0;
  }
  if (keys_seen(t) <= keys_first(t)) /* the query sees no block of keys */
    memset(s->out + panel_first(t->a, panel), 0,
           (size_t)(t->a->padded * QUERY_PANEL) * sizeof *s->out);
}

static void block_task(void *context, int64_t task, int32_t worker) {
  const Forward *f = (const Forward *)context;
  const Attention *a = &f->a;
  const int64_t *dim = a->args->dim;
  Scratch scratch = scratch_of(f, task, worker), *s = &scratch;
  int64_t blocks = f->blocks.count, block_queries = f->blocks.panels * QUERY_PANEL;
  AttentionStep block = {.a = a, .b = task / blocks / a->heads, .h = task / blocks % a->heads};
  block.q0 = task % blocks * block_queries;
  block.queries = min64(block_queries, a->seq - block.q0);
  int64_t kv_head = block.h / (a->heads / a->kv_heads);
  int64_t panels = ceil_div(block.queries, QUERY_PANEL), all_keys = keys_seen(&block);
  Factor q = head_tokens(a, 0, block.b, block.h, dim[5]);
  Factor k = head_tokens(a, 1, block.b, kv_head, dim[6]);
  Factor v = flip(head_tokens(a, 2, block.b, kv_head, dim[7]));
  for (int64_t p = 0; p < panels; p++) {
    AttentionStep step = panel_of(&block, p);
    begin_panel(&step, s, p, &q);
  }
  CPU(gemm_begin)(a->kind);
  for (int64_t k0 = keys_first(&block); k0 < all_keys; k0 += KEY_BLOCK) {
    int64_t keys = min64(KEY_BLOCK, all_keys - k0);
    CPU(gemm_fill_row_panels)(a->kind, &k, k0, keys, 0, a->head, s->k);
    CPU(gemm_fill_row_panels)(a->kind, &v, 0, a->head, k0, keys, s->v);
    for (int64_t p = 0; p < panels; p++) {
      AttentionStep step = panel_of(&block, p);
      step.k0 = k0;
      step.is_first = k0 == keys_first(&step);
      step.keys = min64(keys, keys_seen(&step) - k0);
      if (step.keys > 0 && k0 >= keys_first(&step))
        panel_step(&step, s, p, gemm_units(a->kind, keys));
    }
  }
  CPU(gemm_end)(a->kind);
  for (int64_t p = 0; p < panels; p++) {
    AttentionStep step = panel_of(&block, p);
    write_panel(&step, s, p);
  }
}

/* scratch: its operand. False: the reference must run. */
static bool run_fast(const KernelArgs *args, const int32_t *begin, int32_t scratch) {
  bool bf16 =
      args->dtype[0] == DTYPE_BF16 && args->dtype[1] == DTYPE_BF16 && args->dtype[2] == DTYPE_BF16;
  if (!cpu_floats(args, 4, 0) || args->dtype[4] != DTYPE_F32 || args->dim[4] > HEAD_MAX)
    return false;
  Forward f = {.a = attention_of(args, bf16),
               .blocks = forward_blocks(args->dim, bf16, threads_count(args->threads)),
               .scratch = scratch};
  f.a.begin = begin;
  if (cpu_scratch_bytes(args, scratch) < f.blocks.threads * f.blocks.thread_bytes) return false;
  threads_run(args->threads, f.a.batch * f.a.heads * f.blocks.count, block_task, &f);
  return true;
}

void CPU(attention)(const KernelArgs *args) {
  if (!run_fast(args, NULL, 5)) reference_attention(args);
}

void CPU(attention_apart)(const KernelArgs *args) {
  if (!run_fast(args, (const int32_t *)args->operand[5], 6)) reference_attention_apart(args);
}
