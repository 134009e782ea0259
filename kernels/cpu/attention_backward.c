/* attention_backward.c -- probabilities come back as exp(score - lse), block by block
 * (arXiv:2205.14135). One task is one head of k and v with all query heads of its group, so no two
 * tasks add to one element.
 *
 * With p the probabilities and keep dropout's factors: d_v = (p keep)^T d_out, d_p = d_out v^T,
 * d_s = scale p (keep d_p - delta), delta = sum over the head of d_out out; d_q = d_s k,
 * d_k = d_s^T q. A pair that is masked adds nothing: no key's block meets queries before the first
 * that sees it, and p becomes 0 whatever lse is. */
#include "kernels/cpu/attention.h"
#include "kernels/cpu/workspace.h"

enum { QUERY_PANELS = 3, QUERY_BLOCK = QUERY_PANELS * QUERY_PANEL };

/* Scores' gradients as they come out of the element-wise part, in the type they are multiplied in.
 */
typedef union Slopes {
  float f32[KEY_BLOCK][QUERY_BLOCK];
  uint16_t bf16[KEY_BLOCK][QUERY_BLOCK];
} Slopes;

/* One thread's blocks; sizes for f32 and the widest head. */
typedef struct Scratch {
  float k[KEY_BLOCK * HEAD_MAX], v[KEY_BLOCK * HEAD_MAX]; /* rows: keys */
  float k_flipped[HEAD_MAX * KEY_BLOCK];                  /* rows: elements of the head */
  float d_k[KEY_BLOCK * HEAD_MAX], d_v[KEY_BLOCK * HEAD_MAX];
  float q[QUERY_PANELS][HEAD_MAX * QUERY_PANEL], d_out[QUERY_PANELS][HEAD_MAX * QUERY_PANEL];
  float q_flipped[HEAD_MAX * QUERY_BLOCK], d_out_flipped[HEAD_MAX * QUERY_BLOCK];
  Slopes p, d_s;
  float packed[KEY_BLOCK * QUERY_BLOCK];
  float last_key[QUERY_PANEL]; /* that each query of the panel sees */
} Scratch;

_Static_assert(sizeof(Scratch) <= WORK_ATTENTION_THREAD, "the workspace holds a thread's blocks");

typedef struct Backward {
  Attention a;
  int64_t thread_bytes, group, panels; /* panels of queries in a sequence */
} Backward;

/* What a task works on; changes as it goes through groups and blocks. */
typedef struct Place {
  const Attention *a;
  Scratch *s;
  float *d_q;   /* of head h: [panels][padded][48] */
  float *delta; /* of head h: [seq] */
  int64_t b, h, kv_head;
  int64_t k0, keys;
  int64_t q0, queries; /* block */
} Place;

static Factor operand_head(const Place *t, int32_t i) {
  const int64_t *dim = t->a->args->dim;
  int64_t dense = t->a->heads * t->a->head;
  switch (i) {
  case 1: return head_tokens(t->a, 1, t->b, t->h, dim[5]);
  case 2: return head_tokens(t->a, 2, t->b, t->kv_head, dim[6]);
  case 3: return head_tokens(t->a, 3, t->b, t->kv_head, dim[7]);
  default: return head_tokens(t->a, i, t->b, t->h, dense); /* d_out, out */
  }
}

static void row_terms(const Place *t) {
  Factor d_out = operand_head(t, 0), out = operand_head(t, 4);
  for (int64_t i = 0; i < t->a->seq; i++) {
    Vec sum = v_set(0);
    for (int64_t d = 0; d < t->a->head; d += LANES) {
      int64_t n = t->a->head - d;
      sum = v_fma(v_get_n(d_out.data, i * d_out.line_stride + d, n, d_out.bf16),
                  v_get_n(out.data, i * out.line_stride + d, n, out.bf16), sum);
    }
    t->delta[i] = v_sum(sum);
  }
}

static void put_slope(const Place *t, Slopes *to, int64_t key, int64_t column, Vec x) {
  if (t->a->pairs)
    v_store_bf16(&to->bf16[key][column], x);
  else
    v_store(&to->f32[key][column], x);
}

/* Eight keys of one column of sixteen queries: p and d_s from the scores and d_p. */
static void slope_rows(const Place *t, int64_t panel, int64_t j, int64_t key, const float *scores,
                       const float *d_p) {
  const Attention *a = t->a;
  int64_t column = panel * QUERY_PANEL + j * LANES, q0 = t->q0 + column;
  int64_t n = min64(LANES, t->q0 + t->queries - q0);
  const float *lse_at = (const float *)a->args->operand[5] + (t->b * a->heads + t->h) * a->seq;
  Vec minus = v_neg(v_get_n(lse_at, q0, n, false)), delta = v_get_n(t->delta, q0, n, false);
  const float *last_key = t->s->last_key + j * LANES;
  Vec number = v_load(last_key), scale = v_set(a->scale), zero = v_set(0);
  bool masked = (float)(t->k0 + key + PANEL_ROWS - 1) > *last_key; /* the first query's */
  float keep[PANEL_ROWS][LANES];
  if (a->drop) {
    keep_factors(a, t->b, t->h, q0, t->k0 + key, keep);
    keep_factors(a, t->b, t->h, q0, t->k0 + key + 4, keep + 4);
  }
  for (int64_t i = 0; i < PANEL_ROWS; i++) {
    int64_t from = i * QUERY_PANEL + j * LANES;
    Vec p = v_exp(v_fma(v_load(scores + from), scale, minus)), slope = v_load(d_p + from);
    if (n < LANES) p = v_keep_n(p, n, zero);
    if (masked) p = v_less_select(number, v_set((float)(t->k0 + key + i)), zero, p);
    Vec kept = p;
    if (a->drop) {
      kept = v_keep_product(p, v_load(keep[i]));
      slope = v_keep_product(slope, v_load(keep[i]));
    }
    put_slope(t, &t->s->p, key + i, column, kept);
    put_slope(t, &t->s->d_s, key + i, column, v_mul(v_mul(p, v_sub(slope, delta)), scale));
  }
}

/* Keys of the block that the last of these queries of the block sees: one at least, for blocks of
 * queries begin at a panel with a query that sees the first key. */
static int64_t seen_keys(const Place *t, int64_t first, int64_t queries) {
  return min64(t->keys, visible_keys(t->a, t->q0 + first + queries - 1) - t->k0);
}

/* p and d_s of one panel of queries against the block of keys; keys no query sees become 0. */
static void slope_panel(const Place *t, int64_t panel) {
  const Attention *a = t->a;
  Scratch *s = t->s;
  int64_t first = panel * QUERY_PANEL, queries = min64(QUERY_PANEL, t->queries - first);
  int64_t vectors = ceil_div(queries, LANES), key = 0;
  int64_t seen = seen_keys(t, first, queries);
  GemmMicro *micro = CPU(gemm_micro)(a->pairs, vectors);
  for (int64_t j = 0; j < vectors; j++)
    v_store(s->last_key + j * LANES, last_keys(a, t->q0 + first + j * LANES));
  for (; key < seen; key += PANEL_ROWS) {
    float scores[TILE] __attribute__((aligned(64))), d_p[TILE] __attribute__((aligned(64)));
    micro(s->k + key * a->units, s->q[panel], a->units, scores);
    micro(s->v + key * a->units, s->d_out[panel], a->units, d_p);
    for (int64_t j = 0; j < vectors; j++)
      slope_rows(t, panel, j, key, scores, d_p);
  }
  for (; key < t->keys; key++)
    for (int64_t j = 0; j < vectors; j++) {
      put_slope(t, &s->p, key, first + j * LANES, v_set(0));
      put_slope(t, &s->d_s, key, first + j * LANES, v_set(0));
    }
}

static Factor slopes_factor(const Place *t, const Slopes *slopes) {
  return (Factor){slopes, QUERY_BLOCK, 1, t->a->pairs};
}

/* to[key][head] += slopes^T . flipped, over the block's queries. */
static void add_key_gradient(const Place *t, const Slopes *slopes, const float *flipped,
                             float *to) {
  const Attention *a = t->a;
  Factor rows = slopes_factor(t, slopes);
  int64_t units = units_of(a, t->queries);
  pack_rows(a, &rows, 0, t->keys, 0, t->queries, t->s->packed);
  for (int64_t d = 0; d < a->head; d += PANEL_COLUMNS) {
    int64_t vectors = ceil_div(min64(PANEL_COLUMNS, a->head - d), LANES);
    GemmMicro *micro = CPU(gemm_micro)(a->pairs, vectors);
    for (int64_t key = 0; key < t->keys; key += PANEL_ROWS) {
      float tile[TILE] __attribute__((aligned(64)));
      /* Queries before the first of these keys do not see them. */
      int64_t skip = max64(0, first_query(a, t->k0 + key) - t->q0) / (a->pairs ? 2 : 1);
      if (skip >= units) break; /* nor does any see those after them */
      micro(t->s->packed + key * units + skip * PANEL_ROWS,
            flipped + d * units + skip * vectors * LANES, units - skip, tile);
      for (int64_t i = 0; i < PANEL_ROWS; i++)
        for (int64_t j = 0; j < vectors; j++) {
          float *sum = to + (key + i) * HEAD_MAX + d + j * LANES;
          v_store(sum, v_add(v_load(sum), v_load(tile + i * PANEL_COLUMNS + j * LANES)));
        }
    }
  }
}

/* d_q[head][query] += k^T . d_s, over the block's keys. */
static void add_query_gradient(const Place *t, int64_t panel) {
  const Attention *a = t->a;
  int64_t first = panel * QUERY_PANEL, queries = min64(QUERY_PANEL, t->queries - first);
  int64_t seen = seen_keys(t, first, queries);
  int64_t vectors = ceil_div(queries, LANES), block_units = units_of(a, t->keys);
  Factor columns = flip(slopes_factor(t, &t->s->d_s));
  pack_columns(a, &columns, first, vectors * LANES, 0, seen, t->s->packed);
  GemmMicro *micro = CPU(gemm_micro)(a->pairs, vectors);
  float *d_q = t->d_q + (t->q0 + first) / QUERY_PANEL * a->padded * QUERY_PANEL;
  for (int64_t d = 0; d < a->head; d += PANEL_ROWS) {
    float tile[TILE] __attribute__((aligned(64)));
    micro(t->s->k_flipped + d * block_units, t->s->packed, units_of(a, seen), tile);
    for (int64_t i = 0; i < PANEL_ROWS; i++)
      for (int64_t j = 0; j < vectors; j++) {
        float *sum = d_q + (d + i) * QUERY_PANEL + j * LANES;
        Vec add = v_load(tile + i * QUERY_PANEL + j * LANES);
        v_store(sum, t->k0 == 0 ? add : v_add(v_load(sum), add));
      }
  }
}

static void query_block(const Place *t) {
  const Attention *a = t->a;
  Scratch *s = t->s;
  Factor q = operand_head(t, 1), d_out = operand_head(t, 0);
  Factor q_flipped = flip(q), d_out_flipped = flip(d_out);
  int64_t units = units_of(a, t->queries), panels = ceil_div(t->queries, QUERY_PANEL);
  for (int64_t p = 0; p < panels; p++) {
    int64_t first = p * QUERY_PANEL, count = min64(QUERY_PANEL, t->queries - first);
    pack_columns(a, &q, t->q0 + first, count, 0, a->head, s->q[p]);
    pack_columns(a, &d_out, t->q0 + first, count, 0, a->head, s->d_out[p]);
    slope_panel(t, p);
  }
  for (int64_t d = 0; d < a->head; d += PANEL_COLUMNS) {
    int64_t count = min64(PANEL_COLUMNS, a->head - d);
    pack_columns(a, &q_flipped, d, count, t->q0, t->queries, s->q_flipped + d * units);
    pack_columns(a, &d_out_flipped, d, count, t->q0, t->queries, s->d_out_flipped + d * units);
  }
  add_key_gradient(t, &s->p, s->d_out_flipped, s->d_v);
  add_key_gradient(t, &s->d_s, s->q_flipped, s->d_k);
  for (int64_t p = 0; p < panels; p++)
    add_query_gradient(t, p);
}

static void write_keys(const Place *t, const float *from, int32_t i, int64_t stride) {
  const Attention *a = t->a;
  bool bf16 = a->args->dtype[i] == DTYPE_BF16;
  for (int64_t key = 0; key < t->keys; key++) {
    int64_t to = (t->b * a->seq + t->k0 + key) * stride + t->kv_head * a->head;
    for (int64_t d = 0; d < a->head; d += LANES)
      v_put_n(a->args->operand[i], to + d, a->head - d, bf16, v_load(from + key * HEAD_MAX + d));
  }
}

static void write_query_gradients(const Place *t) {
  const Attention *a = t->a;
  int64_t stride = a->args->dim[8];
  float one[QUERY_PANEL];
  for (int i = 0; i < QUERY_PANEL; i++)
    one[i] = 1;
  for (int64_t q = 0; q < a->seq; q += QUERY_PANEL)
    write_queries(a, t->d_q + q * a->padded, one, min64(QUERY_PANEL, a->seq - q),
                  a->args->operand[6], (t->b * a->seq + q) * stride + t->h * a->head, stride,
                  a->args->dtype[6] == DTYPE_BF16);
}

/* Sets t to the group's member-th query head. */
static void select_head(Place *t, const Backward *f, int64_t member) {
  int64_t d_q_size = f->panels * QUERY_PANEL * t->a->padded;
  float *first = (float *)(t->s + 1);
  t->h = t->kv_head * f->group + member;
  t->d_q = first + member * d_q_size;
  t->delta = first + f->group * d_q_size + member * t->a->seq;
}

/* Where the blocks of queries that meet the keys from k0 on begin: at a panel. */
static int64_t first_block(const Attention *a, int64_t k0) {
  int64_t first = first_query(a, k0);
  return (first < a->seq ? first / QUERY_PANEL : ceil_div(a->seq, QUERY_PANEL)) * QUERY_PANEL;
}

static void key_block(Place *t, const Backward *f) {
  const Attention *a = t->a;
  Scratch *s = t->s;
  Factor k = operand_head(t, 2), v = operand_head(t, 3), k_flipped = flip(k);
  pack_rows(a, &k, t->k0, t->keys, 0, a->head, s->k);
  pack_rows(a, &v, t->k0, t->keys, 0, a->head, s->v);
  pack_rows(a, &k_flipped, 0, a->head, t->k0, t->keys, s->k_flipped);
  int64_t first = first_block(a, t->k0);
  memset(s->d_k, 0, sizeof s->d_k);
  memset(s->d_v, 0, sizeof s->d_v);
  for (int64_t member = 0; member < f->group; member++) {
    select_head(t, f, member);
    if (t->k0 == 0) memset(t->d_q, 0, (size_t)(first * a->padded) * sizeof *t->d_q);
    for (t->q0 = first; t->q0 < a->seq; t->q0 += QUERY_BLOCK) {
      t->queries = min64(QUERY_BLOCK, a->seq - t->q0);
      query_block(t);
    }
  }
  write_keys(t, s->d_k, 7, a->args->dim[9]);
  write_keys(t, s->d_v, 8, a->args->dim[10]);
}

static void head_task(void *context, int64_t task, int32_t worker) {
  const Backward *f = (const Backward *)context;
  const Attention *a = &f->a;
  Place t = {.a = a, .b = task / a->kv_heads, .kv_head = task % a->kv_heads};
  t.s = (Scratch *)((char *)a->args->operand[9] + worker * f->thread_bytes);
  for (int64_t member = 0; member < f->group; member++) {
    select_head(&t, f, member);
    row_terms(&t);
  }
  for (t.k0 = 0; t.k0 < a->seq; t.k0 += KEY_BLOCK) {
    t.keys = min64(KEY_BLOCK, a->seq - t.k0);
    key_block(&t, f);
  }
  for (int64_t member = 0; member < f->group; member++) {
    select_head(&t, f, member);
    write_query_gradients(&t);
  }
}

void CPU(attention_backward)(const KernelArgs *args) {
  bool bf16 = true;
  for (int i = 0; i < 4; i++)
    bf16 = bf16 && args->dtype[i] == DTYPE_BF16;
  int64_t threads = threads_count(args->threads), head = args->dim[4];
  int64_t group = args->dim[2] / args->dim[3];
  int64_t need = workspace_attention_backward(KERNEL_TARGET_CPU, args->dim, threads);
  if (!cpu_floats(args, 9, 1u << 5) || args->dtype[5] != DTYPE_F32 || head > HEAD_MAX ||
      cpu_scratch_bytes(args, 9) < need) {
    reference_attention_backward(args);
    return;
  }
  Backward f = {.a = attention_of(args, bf16),
                .thread_bytes = need / threads / 64 * 64,
                .group = group,
                .panels = ceil_div(args->dim[1], QUERY_PANEL)};
  threads_run(args->threads, f.a.batch * f.a.kv_heads, head_task, &f);
}
