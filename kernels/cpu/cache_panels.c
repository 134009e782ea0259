/* cache_panels.c -- attention of many tokens of a text to its cache: panels of 48 queries by blocks
 * of keys (attention_panels.h). Heads that share keys and values read one copy of them.
 *
 * A key that a query does not see has weight 0 for it, and blocks begin at multiples of KEY_BLOCK:
 * so the order of a query's sums does not depend on the other tokens of the pass. */
#include "kernels/cpu/cache_panels.h"

#include "kernels/cpu/attention_panels.h"

enum {
  PANELS = 4, /* of a task: they share what it copies of keys and values */
  BLOCK_ELEMENTS = KEY_BLOCK * HEAD_MAX,
  PANEL_ELEMENTS = QUERY_PANEL * HEAD_MAX
};

typedef struct Cached {
  Attention a;
  int64_t q_stride, rows, window; /* rows: positions of the cache */
  int64_t heads_at_once;          /* of those that share keys */
  int64_t parts;                  /* of them */
  int64_t queries;                /* of a block */
  int64_t blocks;
} Cached;

/* A thread's blocks, on its stack. */
typedef struct Buffers {
  float q[PANELS * PANEL_ELEMENTS], out[PANELS * PANEL_ELEMENTS];
  float k[BLOCK_ELEMENTS], v[BLOCK_ELEMENTS];
  float scores[KEY_BLOCK * QUERY_PANEL], paired[KEY_BLOCK / 2 * QUERY_PANEL];
  float highest[PANELS * QUERY_PANEL], sum[PANELS * QUERY_PANEL];
} Buffers;

/* The first and the last key that each query of a panel attends to. */
typedef struct Seen {
  float first[QUERY_PANEL], last[QUERY_PANEL];
} Seen;

/* Tokens of a sample that are there: they come first, and their positions do not fall. -1: others
 * are. */
static int64_t tokens_of(const KernelArgs *args, int64_t sample) {
  const int64_t seq = args->dim[1], rows = args->dim[6];
  const int32_t *places = (const int32_t *)args->operand[3] + sample * seq;
  int64_t count = 0;
  while (count < seq && places[count] >= 0 && places[count] < rows &&
         (count == 0 || places[count] >= places[count - 1]))
    count++;
  for (int64_t i = count; i < seq; i++)
    if (places[i] >= 0) return -1;
  return count;
}

static int64_t first_seen(const Cached *c, int64_t place) {
  return c->window > 0 && place >= c->window ? place - c->window + 1 : 0;
}

static Seen seen_of(const Cached *c, const int32_t *places, int64_t queries) {
  Seen seen;
  for (int64_t q = 0; q < QUERY_PANEL; q++) {
    const int64_t place = places[min64(q, queries - 1)];
    seen.first[q] = (float)first_seen(c, place);
    seen.last[q] = (float)place;
  }
  return seen;
}

static void panel_block(const AttentionStep *t, Scratch *s, int64_t panel, const Seen *seen,
                        int64_t depth) {
  const int64_t vectors = ceil_div(t->queries, LANES);
  Vec correction[QUERY_VECTORS];
  find_scores(t, s, panel, vectors);
  for (int64_t j = 0; j < vectors; j++) {
    const float *first = seen->first + j * LANES, *last = seen->last + j * LANES;
    const ColumnKeys keys = {
        {v_load(first), v_load(last)}, (int64_t)first[LANES - 1], (int64_t)last[0] + 1};
    correction[j] = softmax_column(t, s->scores, j, keys, s->highest + panel * QUERY_PANEL,
                                   s->sum + panel * QUERY_PANEL);
  }
  add_values(t, s, panel, depth, vectors, correction);
}

/* Queries without a weight get zeros. */
static void write_panel(const AttentionStep *t, const Scratch *s, int64_t panel) {
  const Attention *a = t->a;
  const float *sum = s->sum + panel * QUERY_PANEL;
  float factor[QUERY_PANEL];
  for (int64_t q = 0; q < t->queries; q++)
    factor[q] = sum[q] == 0 ? 0 : 1 / sum[q];
  const int64_t stride = a->heads * a->head;
  write_queries(a, s->out + panel_first(a, panel), factor, t->queries, a->args->operand[4],
                (t->b * a->seq + t->q0) * stride + t->h * a->head, stride,
                (DType)a->args->dtype[4]);
}

/* Tokens [first, end) of a sample are none. */
static void write_zeros(const Cached *c, int64_t b, int64_t h, int64_t first, int64_t end) {
  const Attention *a = &c->a;
  for (int64_t token = first; token < end; token++)
    for (int64_t i = 0; i < a->head; i += LANES)
      v_put_n(a->args->operand[4], ((b * a->seq + token) * a->heads + h) * a->head + i,
              min64(LANES, a->head - i), (DType)a->args->dtype[4], v_set(0));
}

/* One head of keys or values: lines are positions. */
static Factor cache_head(const Cached *c, int32_t operand, int64_t b, int64_t kv_head) {
  const Attention *a = &c->a;
  const DType dtype = (DType)a->args->dtype[operand];
  const int64_t row = a->kv_heads * a->head, first = b * c->rows * row + kv_head * a->head;
  return (Factor){at(a->args->operand[operand], first, dtype), row, 1, dtype};
}

/* Panels of a task: those of a head follow each other. */
typedef struct Panels {
  int64_t count;
  AttentionStep step[PANELS];
  Seen seen[PANELS];
} Panels;

/* The heads of a task end with those that share their keys. */
static int64_t heads_end(const Cached *c, int64_t h) {
  const int64_t group = c->a.heads / c->a.kv_heads;
  return min64(h + c->heads_at_once, (h / group + 1) * group);
}

static void begin_panels(const Cached *c, Panels *all, Scratch *s, const AttentionStep *block) {
  const Attention *a = &c->a;
  const DType dtype = (DType)a->args->dtype[0];
  const int32_t *places = (const int32_t *)a->args->operand[3] + block->b * a->seq;
  const int64_t end_head = heads_end(c, block->h);
  for (int64_t h = block->h; h < end_head; h++)
    for (int64_t q = 0; q < block->queries; q += QUERY_PANEL) {
      const int64_t p = all->count++;
      AttentionStep *step = &all->step[p];
      *step = *block;
      step->h = h;
      step->q0 += q;
      step->queries = min64(QUERY_PANEL, block->queries - q);
      all->seen[p] = seen_of(c, places + step->q0, step->queries);
      const Factor tokens = {
          at(a->args->operand[0], block->b * a->seq * c->q_stride + h * a->head, dtype),
          c->q_stride, 1, dtype};
      CPU(gemm_fill_column_panels)
      (a->kind, &tokens, step->q0, step->queries, 0, a->head, s->q + panel_first(a, p));
      begin_sums(s, p);
    }
}

static void attend(const Cached *c, Panels *all, Scratch *s, int64_t b, int64_t kv_head) {
  const Attention *a = &c->a;
  const Factor k = cache_head(c, 1, b, kv_head), v = flip(cache_head(c, 2, b, kv_head));
  int64_t end = 0, first = INT64_MAX;
  for (int64_t p = 0; p < all->count; p++) {
    end = max64(end, (int64_t)all->seen[p].last[QUERY_PANEL - 1] + 1);
    first = min64(first, (int64_t)all->seen[p].first[0] / KEY_BLOCK * KEY_BLOCK);
  }
  CPU(gemm_begin)(a->kind);
  for (int64_t k0 = first; k0 < end; k0 += KEY_BLOCK) {
    const int64_t keys = min64(KEY_BLOCK, end - k0);
    CPU(gemm_fill_row_panels)(a->kind, &k, k0, keys, 0, a->head, s->k);
    CPU(gemm_fill_row_panels)(a->kind, &v, 0, a->head, k0, keys, s->v);
    for (int64_t p = 0; p < all->count; p++) {
      AttentionStep *step = &all->step[p];
      const int64_t first_block = (int64_t)all->seen[p].first[0] / KEY_BLOCK * KEY_BLOCK;
      step->k0 = k0;
      step->is_first = k0 == first_block;
      step->keys = min64(keys, (int64_t)all->seen[p].last[QUERY_PANEL - 1] + 1 - k0);
      if (step->keys > 0 && k0 >= first_block)
        panel_block(step, s, p, &all->seen[p], gemm_units(a->kind, keys));
    }
  }
  CPU(gemm_end)(a->kind);
}

static void cached_task(void *context, int64_t task, int32_t worker) {
  const Cached *c = context;
  const Attention *a = &c->a;
  Buffers own __attribute__((aligned(64)));
  Scratch s = {own.q, own.out, own.k, own.v, own.scores, own.paired, own.highest, own.sum};
  Panels all;
  const int64_t group = a->heads / a->kv_heads, of_head = task / c->blocks;
  const int64_t kv_head = of_head / c->parts % a->kv_heads;
  AttentionStep block = {.a = a,
                         .b = of_head / c->parts / a->kv_heads,
                         .h = kv_head * group + of_head % c->parts * c->heads_at_once,
                         .q0 = (c->blocks - 1 - task % c->blocks) * c->queries};
  const int64_t tokens = tokens_of(a->args, block.b);
  const int64_t end = min64(block.q0 + c->queries, a->seq);
  (void)worker;
  block.queries = max64(0, min64(end, tokens) - block.q0);
  all.count = 0;
  if (block.queries > 0) begin_panels(c, &all, &s, &block);
  attend(c, &all, &s, block.b, kv_head);
  for (int64_t p = 0; p < all.count; p++)
    write_panel(&all.step[p], &s, p);
  for (int64_t h = block.h; h < heads_end(c, block.h); h++)
    write_zeros(c, block.b, h, block.q0 + block.queries, end);
}

bool CPU(cache_panels)(const KernelArgs *args) {
  const int64_t *dim = args->dim;
  const bool bf16 =
      args->dtype[0] == DTYPE_BF16 && args->dtype[1] == DTYPE_BF16 && args->dtype[2] == DTYPE_BF16;
  if (dim[1] < CACHE_PANELS_LEAST || dim[4] > HEAD_MAX || dim[3] == 0) return false;
  for (int64_t b = 0; b < dim[0]; b++)
    if (tokens_of(args, b) < 0) return false;
  Cached c = {.a = {.args = args,
                    .batch = dim[0],
                    .seq = dim[1],
                    .heads = dim[2],
                    .kv_heads = dim[3],
                    .head = dim[4],
                    .padded = whole_sixteens(dim[4]),
                    .kind = gemm_kind(bf16, false),
                    .scale = (float)args->attr[0],
                    .softcap = (float)args->attr[2]},
              .q_stride = dim[5],
              .rows = dim[6],
              .window = (int64_t)args->attr[1]};
  const int64_t group = dim[2] / dim[3];
  c.a.units = gemm_units(c.a.kind, dim[4]);
  c.heads_at_once = min64(group, PANELS);
  c.parts = ceil_div(group, c.heads_at_once);
  c.queries = PANELS / c.heads_at_once * QUERY_PANEL;
  c.blocks = ceil_div(dim[1], c.queries);
  threads_run(args->threads, dim[0] * dim[3] * c.parts * c.blocks, cached_task, &c);
  return true;
}
