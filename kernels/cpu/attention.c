/* attention.c -- out = dropout(softmax(scale q k^T)) v by blocks of keys (attention_panels.h). One
 * task is a block of queries of one head. */
#include "kernels/cpu/attention_panels.h"

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

static ColumnKeys keys_of_column(const AttentionStep *t, int64_t j) {
  const int64_t q0 = t->q0 + j * LANES;
  return (ColumnKeys){{first_keys(t->a, t->b, q0), last_keys(t->a, q0)},
                      first_key(t->a, t->b, q0 + LANES - 1),
                      visible_keys(t->a, q0)};
}

static void panel_step(const AttentionStep *t, Scratch *s, int64_t panel, int64_t depth) {
  int64_t vectors = ceil_div(t->queries, LANES);
  Vec correction[QUERY_VECTORS];
  find_scores(t, s, panel, vectors);
  for (int64_t j = 0; j < vectors; j++) {
    correction[j] = softmax_column(t, s->scores, j, keys_of_column(t, j),
                                   s->highest + panel * QUERY_PANEL, s->sum + panel * QUERY_PANEL);
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
  begin_sums(s, panel);
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
