/* attention.c -- out = dropout(softmax(softcap(scale q k^T))) v for each head; causal: a token sees
 * those up to itself; window W: only the last W of those. softcap C: C tanh(score / C).
 *
 * With p the probabilities, m the dropout mask, and s = sum over a row of d_out out:
 *   d_v = (p m)^T d_out     d_score = p (m (d_out v^T) - s)     d_q = scale d_score k     d_k =
 * scale d_score^T q. Backward recomputes p from the row's log-sum-exp; scores are never kept.
 *
 * inputs: q [batch, seq, heads, head]; k, v [batch, seq, kv_heads, head]; heads share the k and v
 * of their group. Outputs: out, as q; lse [batch, heads, seq]. attrs: causal, scale, dropout rate;
 * how many members of cp back the member is whose k and v these are (set by shard/);
 * window and softcap, 0: none.
 *
 * attention_apart: has one more input, begin [batch, seq]: the position of the first token of each
 * token's document, before which a token sees none.
 *
 * attention_merge: merges out and lse of a block of keys into those of the blocks before (two
 * inputs: the first block). Backward of a block reads the merged ones. */
#include <math.h>

#include "compiler/graph/ops/divide.h"
#include "compiler/graph/ops/rule.h"

enum { CAUSAL, SCALE, DROPOUT, MEMBERS_BACK, WINDOW, SOFTCAP };
/* Attrs of the kernels after causal, scale, dropout. */
enum {
  Q_RUNS = 3,
  K_RUNS = 5,
  HEAD_FIRST = 7,
  ALL_HEADS,
  ALL_SEQ,
  ATTR_WINDOW,
  ATTR_SOFTCAP,
  ATTR_COUNT
};

static bool inputs_fit(Graph *g, const Node *n) {
  DimList q = rule_carried(g, n->inputs[0]), k = rule_dims(g, n->inputs[1]);
  DimList v = rule_dims(g, n->inputs[2]), k_tokens = rule_carried(g, n->inputs[1]);
  if (!rule_same_dims(&k, &v))
    return error_at(g->compile, n->origin, "attention-shape", "attention: k is %s but v is %s",
                    rule_dims_text(g, &k), rule_dims_text(g, &v));
  DimList q_features = rule_features(g, n->inputs[0]), k_features = rule_features(g, n->inputs[1]);
  if (!rule_heads_fit(g, n, &q_features, &k_features) || !rule_needs_seq(g, n, n->inputs[0]))
    return false;
  if (!rule_same_dims(&q, &k_tokens))
    return error_at(g->compile, n->origin, "attention-shape",
                    "attention: q runs over %s but k over %s", rule_dims_text(g, &q),
                    rule_dims_text(g, &k_tokens));
  return true;
}

static DimId seq_of(const Graph *g, ValueId v) {
  DimList carried = rule_carried(g, v);
  return carried.at[carried.count - 1];
}

static int64_t whole_seq(const Graph *g, ValueId q) {
  return g->dims.at[rule_whole_dim(g, seq_of(g, q))].size;
}

static bool shape(Graph *g, Node *n) {
  if (!rule_numbers(g, n, 3) || !inputs_fit(g, n)) return false;
  if (!(n->attrs[DROPOUT] >= 0 && n->attrs[DROPOUT] < 1))
    return error_at(g->compile, n->origin, "dropout-rate",
                    "attention: the dropout rate is a share, 0 <= rate < 1; got %g",
                    n->attrs[DROPOUT]);
  if (!g->training) n->attrs[DROPOUT] = 0;
  if (n->attrs[WINDOW] >= (double)whole_seq(g, n->inputs[0])) n->attrs[WINDOW] = 0; /* hides none */
  DimList q = rule_features(g, n->inputs[0]);
  if (n->attrs[SCALE] == 0) n->attrs[SCALE] = 1 / sqrt((double)g->dims.at[q.at[1]].size);
  if (rule_made(n)) return true;
  rule_output(g, n, rule_dims(g, n->inputs[0]), g->compute_dtype);
  rule_output_extra(g, n, "lse", value_rows(g, n->inputs[0]) * g->dims.at[q.at[0]].size,
                    rule_statistics_dtype(g));
  return true;
}

static void backward_by(Grad *b, const Node *n, OpKind op) {
  ValueId d[3], begin = n->input_count > 3 ? n->inputs[3] : NO_ID;
  bool any = false;
  for (int32_t i = 0; i < 3; i++) {
    d[i] = grad_like(b, n->inputs[i]);
    any |= grad_needed(b, n->inputs[i]);
  }
  if (!any) return;
  grad_append(b, n, op,
              (const ValueId[]){grad_output(b, n, 0), n->inputs[0], n->inputs[1], n->inputs[2],
                                n->outputs[0], n->outputs[1], begin, NO_ID},
              (const ValueId[]){d[0], d[1], d[2], NO_ID});
  for (int32_t i = 0; i < 3; i++)
    if (grad_needed(b, n->inputs[i])) grad_add(b, n->inputs[i], d[i]);
}

static void backward(Grad *b, const Node *n) {
  backward_by(b, n, OP_attention_backward);
}

static void backward_apart(Grad *b, const Node *n) {
  backward_by(b, n, OP_attention_apart_backward);
}

/* attrs[attr] by the member along cp whose block is here now; member numbers wrap around. */
static void lower_block(const Graph *g, DimId seq, int64_t members_back, int32_t attr,
                        Lowered *out) {
  const Dim *part = &g->dims.at[seq];
  int64_t half = part->size / 2, whole = g->dims.at[part->whole].size, n = whole / part->size;
  for (int32_t run = 0; run < 2; run++) {
    double *values = ARENA_ARRAY(g->compile->arena, double, n);
    for (int64_t m = 0; m < n; m++) {
      int64_t owner = (m - members_back + n) % n;
      int64_t first = part->zigzag ? owner * half : owner * part->size;
      int64_t second = part->zigzag ? whole - half - owner * half : first + half;
      values[m] = (double)(run == 0 ? first : second);
    }
    out->attrs[attr + run] = 0;
    out->varies[out->vary_count++] =
        (LoweredVary){.attr = attr + run, .axes = MESH_BIT(part->mesh), .values = values};
  }
}

/* Sets the positions of q's and k's tokens and heads in the whole sequence. */
static void lower_places(const Graph *g, const Node *n, ValueId q, Lowered *out) {
  DimId seq = seq_of(g, q), heads = rule_features(g, q).at[0], all = rule_whole_dim(g, heads);
  int64_t members_back = (int64_t)n->attrs[MEMBERS_BACK];
  out->attr_count = ATTR_COUNT;
  lower_runs(g, out, Q_RUNS, seq);
  if (members_back == 0)
    lower_runs(g, out, K_RUNS, seq);
  else
    lower_block(g, seq, members_back, K_RUNS, out);
  lower_first(g, out, HEAD_FIRST, heads, all);
  out->attrs[ALL_HEADS] = (double)g->dims.at[all].size;
  out->attrs[ALL_SEQ] = (double)whole_seq(g, q);
  out->attrs[ATTR_WINDOW] = n->attrs[WINDOW];
  out->attrs[ATTR_SOFTCAP] = n->attrs[SOFTCAP];
}

/* Products of seq x seq x head. Backward needs four: the gradients of the probabilities, of v, of q
 * and of k. It runs a fifth, because it recomputes the scores instead of keeping them. */
enum { FORWARD_PRODUCTS = 2, SCORE_PRODUCTS = 1, BACKWARD_PRODUCTS = 4 + SCORE_PRODUCTS };

/* Query-key pairs of one head and sample that a window leaves. In ring attention the blocks differ,
 * so each counts its share of the whole. */
static int64_t pairs_met(const Graph *g, const Node *n, ValueId q) {
  int64_t seq = rule_tokens(g, q).seq, whole = whole_seq(g, q), parts = whole / seq;
  int64_t window = (int64_t)n->attrs[WINDOW];
  if (window > 0) return (window * whole - window * (window - 1) / 2) / (parts * parts);
  return seq * seq;
}

static void lower_heads(const Graph *g, const Node *n, const ValueId *qkv, int64_t products,
                        Lowered *out) {
  Tokens tokens = rule_tokens(g, qkv[0]);
  DimList q = rule_features(g, qkv[0]), k = rule_features(g, qkv[1]);
  int64_t heads = g->dims.at[q.at[0]].size, head = g->dims.at[q.at[1]].size;
  LOWER_DIMS(out, tokens.batch, tokens.seq, heads, g->dims.at[k.at[0]].size, head,
             value_row_stride(g, qkv[0]), value_row_stride(g, qkv[1]), value_row_stride(g, qkv[2]));
  LOWER_ATTRS(out, n->attrs[CAUSAL], n->attrs[SCALE], n->attrs[DROPOUT]);
  lower_places(g, n, qkv[0], out);
  lower_tf32(g, out);
  out->random = n->attrs[DROPOUT] > 0;
  int64_t pairs = pairs_met(g, n, qkv[0]);
  out->flops = 2 * products * tokens.batch * heads * pairs * head;
  if (n->attrs[CAUSAL] != 0 && n->attrs[WINDOW] == 0) out->flops /= 2;
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  lower_heads(g, n, n->inputs, FORWARD_PRODUCTS, out);
}

static void lower_backward(const Graph *g, const Node *n, Lowered *out) {
  lower_heads(g, n, n->inputs + 1, BACKWARD_PRODUCTS, out);
  out->recomputed_flops = out->flops / BACKWARD_PRODUCTS * SCORE_PRODUCTS;
  for (int32_t i = 0; i < 3; i++)
    out->dims[out->dim_count++] = value_row_stride(g, n->outputs[i]);
}

/* Kernels have begin after their outputs. */
static void move_begin(const Node *n, Lowered *out) {
  const int32_t at = n->input_count - 1;
  const ValueId begin = out->operands[at];
  for (int32_t i = at; i + 1 < out->operand_count; i++) {
    out->operands[i] = out->operands[i + 1];
    out->access[i] = out->access[i + 1];
  }
  out->operands[out->operand_count - 1] = begin;
  out->access[out->operand_count - 1] = ACCESS_READ;
}

static void lower_apart(const Graph *g, const Node *n, Lowered *out) {
  lower(g, n, out);
  move_begin(n, out);
}

static void lower_apart_backward(const Graph *g, const Node *n, Lowered *out) {
  lower_backward(g, n, out);
  move_begin(n, out);
}

static void lower_merge(const Graph *g, const Node *n, Lowered *out) {
  ValueId merged = n->outputs[0];
  bool first = n->input_count == 2;
  Tokens tokens = rule_tokens(g, merged);
  DimList features = rule_features(g, merged);
  LOWER_DIMS(out, tokens.batch, tokens.seq, g->dims.at[features.at[0]].size,
             g->dims.at[features.at[1]].size);
  out->operand_count = 4;
  for (int32_t i = 0; i < 2; i++) {
    out->operands[i] = n->outputs[i];
    out->access[i] = first ? ACCESS_WRITE : ACCESS_UPDATE;
    out->operands[2 + i] = n->inputs[n->input_count - 2 + i];
    out->access[2 + i] = ACCESS_READ;
  }
}

const OpDef op_attention = {.name = "attention",
                            .shape = shape,
                            .backward = backward,
                            .lower = lower,
                            .in_place = -1,
                            .reads_views = 7,
                            .divide = divide_attention,
                            .blames = (const AttrBlame[]){{"dropout-rate", DROPOUT}, {0}},
                            .paper = "arXiv:2205.14135, arXiv:2305.13245",
                            .layout = LAYOUT_HEADS | LAYOUT_WHOLE_TOKENS};
const OpDef op_attention_backward = {.name = "attention_backward",
                                     .shape = rule_given,
                                     .lower = lower_backward,
                                     .in_place = -1,
                                     .reads_views = 7 << 1,
                                     .writes_views = 7,
                                     .divide = divide_attention_backward,
                                     .layout = LAYOUT_HEADS | LAYOUT_WHOLE_TOKENS};
const OpDef op_attention_apart = {.name = "attention_apart",
                                  .shape = shape,
                                  .backward = backward_apart,
                                  .lower = lower_apart,
                                  .in_place = -1,
                                  .reads_views = 7,
                                  .divide = divide_attention,
                                  .blames = (const AttrBlame[]){{"dropout-rate", DROPOUT}, {0}},
                                  .layout = LAYOUT_HEADS | LAYOUT_WHOLE_TOKENS};
const OpDef op_attention_apart_backward = {.name = "attention_apart_backward",
                                           .shape = rule_given,
                                           .lower = lower_apart_backward,
                                           .in_place = -1,
                                           .reads_views = 7 << 1,
                                           .writes_views = 7,
                                           .divide = divide_attention_backward,
                                           .layout = LAYOUT_HEADS | LAYOUT_WHOLE_TOKENS};
const OpDef op_attention_merge = {
    .name = "attention_merge", .shape = rule_given, .lower = lower_merge, .in_place = -1};
