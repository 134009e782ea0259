/* linear.c -- y = x w^T + bias over the features of each token.
 *
 *   d_x = d_y w        d_w = d_y^T x (over all tokens)        d_bias = sum of d_y over tokens
 *
 * inputs: x, w [, bias]. w is [out..., in...], in being x's features in their order; a shared
 * handle used the other way round is [in..., out...] and called transposed (a head tied to an
 * embedding is not: [vocab, width] maps width to vocab as it is). Nothing is ever reshaped:
 * several names may be on either side. */
#include "compiler/graph/ops/codes.h"
#include "compiler/graph/ops/divide.h"
#include "compiler/graph/ops/rule.h"

typedef struct LinearParts {
  bool found, transposed;
  DimList out;
} LinearParts;

static bool stands_at(const DimList *w, int32_t first, const DimList *part) {
  for (int32_t i = 0; i < part->count; i++)
    if (w->at[first + i] != part->at[i]) return false;
  return true;
}

/* Which dims of w are contracted with features `in`, and which come out. */
static LinearParts parts_of(const DimList *w, const DimList *in) {
  LinearParts parts = {0};
  int32_t out_count = w->count - in->count;
  if (out_count < 0) return parts;
  bool in_last = stands_at(w, out_count, in), in_first = stands_at(w, 0, in);
  parts.found = in_last || in_first;
  parts.transposed = !in_last && in_first;
  parts.out.count = out_count;
  for (int32_t i = 0; i < out_count; i++)
    parts.out.at[i] = w->at[(parts.transposed ? in->count : 0) + i];
  return parts;
}

static bool bias_fits(Graph *g, const Node *n, const DimList *out) {
  if (n->input_count < 3) return true;
  DimList bias = rule_dims(g, n->inputs[2]);
  if (rule_same_dims(&bias, out)) return true;
  return error_at(g->compile, n->origin, "dimension-mismatch",
                  "linear: bias '%s' is %s, but %s comes out", graph_value(g, n->inputs[2])->name,
                  rule_dims_text(g, &bias), rule_dims_text(g, out));
}

static bool shape(Graph *g, Node *n) {
  if (!rule_numbers(g, n, 1)) return false;
  DimList w = rule_dims(g, n->inputs[1]), in = rule_features(g, n->inputs[0]);
  LinearParts parts = parts_of(&w, &in);
  if (!parts.found)
    return error_at(g->compile, n->origin, "nothing-to-contract",
                    "linear: weight '%s' is %s, the value has features %s: nothing to contract",
                    graph_value(g, n->inputs[1])->name, rule_dims_text(g, &w),
                    rule_dims_text(g, &in));
  if (!bias_fits(g, n, &parts.out)) return false;
  DimList dims = rule_carried(g, n->inputs[0]);
  if (dims.count + parts.out.count > DIMS_MAX)
    return error_at(g->compile, n->origin, "too-many-dimensions",
                    "linear: %s comes out of %s: more than %d dimensions",
                    rule_dims_text(g, &parts.out), value_dims_text(g, n->inputs[0]), DIMS_MAX);
  for (int32_t i = 0; i < parts.out.count; i++)
    dims.at[dims.count++] = parts.out.at[i];
  if (!rule_made(n)) rule_output(g, n, dims, g->compute_dtype);
  return true;
}

static void backward_param(Grad *b, const Node *n, OpKind op, ValueId in0, ValueId in1,
                           ValueId param) {
  Accumulate accumulate;
  ValueId d_param = grad_param(b, param, &accumulate);
  NodeId id =
      grad_append(b, n, op, (const ValueId[]){in0, in1, NO_ID}, (const ValueId[]){d_param, NO_ID});
  graph_node(b->graph, id)->accumulate = accumulate;
}

static void backward(Grad *b, const Node *n) {
  ValueId x = n->inputs[0], w = n->inputs[1], d_y = grad_output(b, n, 0);
  backward_param(b, n, OP_linear_dw, x, d_y, w);
  if (n->input_count > 2) backward_param(b, n, OP_linear_db, d_y, NO_ID, n->inputs[2]);
  if (grad_needed(b, x)) grad_add(b, x, rule_grad1(b, n, OP_linear_dx, d_y, w, x));
}

/* For all kernels: x is the value with the input features; w is the weight or its gradient. */
void linear_lower(const Graph *g, ValueId x, ValueId w, Lowered *out) {
  DimList dims = rule_dims(g, w), in = rule_features(g, x);
  LinearParts parts = parts_of(&dims, &in);
  int64_t rows = value_rows(g, x), in_size = value_features(g, x);
  int64_t out_size = rule_size(g, &parts.out);
  LOWER_DIMS(out, rows, in_size, out_size, parts.transposed);
  out->flops = 2 * rows * in_size * out_size;
}

static void lower_product(const Graph *g, ValueId x, ValueId w, Lowered *out) {
  linear_lower(g, x, w, out);
  lower_tf32(g, out);
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  if (n->input_count > 2) out->kernel = "linear_bias";
  lower_product(g, n->inputs[0], n->inputs[1], out);
}

static void lower_dx(const Graph *g, const Node *n, Lowered *out) {
  lower_product(g, n->outputs[0], n->inputs[1], out);
}

static void lower_dw(const Graph *g, const Node *n, Lowered *out) {
  lower_product(g, n->inputs[0], n->outputs[0], out);
}

static void lower_db(const Graph *g, const Node *n, Lowered *out) {
  LOWER_DIMS(out, value_rows(g, n->inputs[0]), value_features(g, n->inputs[0]));
}

/* Where ranks hold partial sums, the bias is added once, to their sum. */
static void append_linear(Shard *s, NodeId id, const Node *asked, Node *n) {
  (void)asked;
  ValueId y = n->outputs[0], bias = n->inputs[2];
  bool is_last = n->input_count > 2 && partial_of(s, y) != 0;
  if (is_last) n->input_count = 2;
  push_cut(s, id, n);
  if (!is_last) return;
  ValueId sum = as_carried(s, y, n), with_bias = value_as(s, sum, graph_value(s->g, sum)->dtype);
  push_op(s, n, OP_add, (const ValueId[]){sum, bias, NO_ID}, (const ValueId[]){with_bias, NO_ID});
  map_set(s, &s->instead, y, with_bias);
}

const OpDef op_linear = {.name = "linear",
                         .shape = shape,
                         .backward = backward,
                         .lower = lower,
                         .in_place = -1,
                         .in_runs = true,
                         .append = append_linear};
const OpDef op_linear_dx = {.name = "linear_dx",
                            .shape = rule_given,
                            .lower = lower_dx,
                            .in_place = -1,
                            .in_runs = true,
                            .layout = LAYOUT_BILINEAR,
                            .gradient_of = &op_linear};
const OpDef op_linear_dw = {.name = "linear_dw",
                            .shape = rule_given,
                            .lower = lower_dw,
                            .in_place = -1,
                            .in_runs = true,
                            .layout = LAYOUT_BILINEAR};
const OpDef op_linear_db = {.name = "linear_db",
                            .shape = rule_given,
                            .lower = lower_db,
                            .in_place = -1,
                            .in_runs = true,
                            .layout = LAYOUT_LINEAR};
