/* arithmetic.c -- a + b, a - b, a * b with b broadcast over the dims it lacks; scale * x + shift.
 * b may be a weight.
 *
 *   add        d_a = d_y            d_b = sum_to(d_y)
 *   subtract   d_a = d_y            d_b = sum_to(-d_y)
 *   multiply   d_a = d_y * b        d_b = sum_to(d_y * a)
 *   affine     d_x = scale * d_y                            attrs: scale, shift
 *   sum_to     sums x over the dims that its output lacks: undoes a broadcast
 *
 * Dims are matched by name, in any order; one side has all dims of the other. add and multiply swap
 * their inputs when the first is the smaller one. */
#include <assert.h>

#include "compiler/graph/ops/rule.h"

static DimId missing_dim(const Graph *g, ValueId from, ValueId of) {
  const Value *value = graph_value(g, of);
  for (int32_t i = 0; i < value->dim_count; i++)
    if (!value_has_dim(g, from, value->dims[i])) return value->dims[i];
  return NO_ID;
}

static bool mismatch(Graph *g, const Node *n, DimId dim) {
  return error_at(g->compile, n->origin, "dimension-mismatch",
                  "%s: %s and %s: '%s' is missing on the other side; names must match",
                  op_def(n->op)->name, value_dims_text(g, n->inputs[0]),
                  value_dims_text(g, n->inputs[1]), g->dims.at[dim].name);
}

static bool is_weight(const Graph *g, ValueId v) {
  return graph_value(g, v)->kind == VALUE_PARAM;
}

/* Weights are checked below: positions have no batch dim, so the other side has all dims of both.
 */
static bool are_numbers(Graph *g, const Node *n) {
  Node values = {.op = n->op, .origin = n->origin};
  for (int32_t i = 0; i < 2; i++)
    if (!is_weight(g, n->inputs[i])) values.inputs[values.input_count++] = n->inputs[i];
  if (values.input_count == 0) return rule_numbers(g, n, 2);
  return rule_numbers(g, &values, values.input_count);
}

static bool shape(Graph *g, Node *n, bool commutes) {
  if (!are_numbers(g, n)) return false;
  ValueId a = n->inputs[0], b = n->inputs[1];
  DimId lacks_a = missing_dim(g, a, b), lacks_b = missing_dim(g, b, a);
  if (lacks_a != NO_ID && (lacks_b != NO_ID || !commutes))
    return mismatch(g, n, lacks_b != NO_ID && !is_weight(g, b) ? lacks_b : lacks_a);
  if (lacks_a != NO_ID) {
    n->inputs[0] = b;
    n->inputs[1] = a;
  }
  if (!rule_made(n)) rule_output_like(g, n, n->inputs[0]);
  return true;
}

static bool shape_commuting(Graph *g, Node *n) {
  return shape(g, n, true);
}
static bool shape_ordered(Graph *g, Node *n) {
  return shape(g, n, false);
}

/* Stride of dim d in dense v; 0 when v does not have it. */
static int64_t stride_of(const Graph *g, ValueId v, DimId d) {
  const Value *value = graph_value(g, v);
  int64_t stride = 1;
  for (int32_t i = value->dim_count - 1; i >= 0; i--) {
    if (value->dims[i] == d) return stride;
    stride *= g->dims.at[value->dims[i]].size;
  }
  return 0;
}

/* Sizes of `big` and strides of `small`, with contiguous neighbours merged: fewer dims are faster.
 */
static void lower_broadcast(const Graph *g, ValueId big, ValueId small, Lowered *out) {
  const Value *value = graph_value(g, big);
  int64_t sizes[DIMS_MAX], strides[DIMS_MAX];
  int32_t count = 0;
  for (int32_t i = 0; i < value->dim_count; i++) {
    int64_t size = g->dims.at[value->dims[i]].size;
    int64_t stride = stride_of(g, small, value->dims[i]);
    if (size == 1) continue;
    if (count > 0 && strides[count - 1] == stride * size) { /* holds for two repeated ones too */
      sizes[count - 1] *= size;
      strides[count - 1] = stride;
    } else {
      sizes[count] = size;
      strides[count++] = stride;
    }
  }
  if (count == 0) {
    sizes[count] = 1;
    strides[count++] = 1;
  }
  out->dims[out->dim_count++] = count;
  for (int32_t i = 0; i < count; i++)
    out->dims[out->dim_count++] = sizes[i];
  for (int32_t i = 0; i < count; i++)
    out->dims[out->dim_count++] = strides[i];
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  lower_broadcast(g, n->inputs[0], n->inputs[1], out);
}

static void lower_sum_to(const Graph *g, const Node *n, Lowered *out) {
  lower_broadcast(g, n->inputs[0], n->outputs[0], out);
}

/* Adds d, which has the dims of n's output, to the gradient of a weight. */
static void add_to_weight(Grad *b, const Node *n, ValueId weight, ValueId d) {
  Accumulate accumulate;
  ValueId d_weight = grad_param(b, weight, &accumulate);
  NodeId id =
      grad_append(b, n, OP_sum_to, (const ValueId[]){d, NO_ID}, (const ValueId[]){d_weight, NO_ID});
  graph_node(b->graph, id)->accumulate = accumulate;
}

/* Adds d, which has the dims of n's output, to the gradient of v, which may have fewer. */
static void add_reduced(Grad *b, const Node *n, ValueId v, ValueId d) {
  if (is_weight(b->graph, v)) {
    add_to_weight(b, n, v, d);
    return;
  }
  DimList have = rule_dims(b->graph, d), want = rule_dims(b->graph, v);
  bool same = rule_same_dims(&have, &want);
  grad_add(b, v, same ? d : rule_grad1(b, n, OP_sum_to, d, NO_ID, v));
}

static void backward_add(Grad *b, const Node *n) {
  ValueId d_y = grad_output(b, n, 0);
  for (int32_t i = 0; i < 2; i++)
    if (grad_needed(b, n->inputs[i])) add_reduced(b, n, n->inputs[i], d_y);
}

static ValueId scaled(Grad *b, const Node *n, ValueId d_y, double scale) {
  Node times = *n;
  times.attrs[0] = scale;
  times.attrs[1] = 0;
  return rule_grad1(b, &times, OP_affine, d_y, NO_ID, d_y);
}

static void backward_subtract(Grad *b, const Node *n) {
  ValueId d_y = grad_output(b, n, 0);
  if (grad_needed(b, n->inputs[0])) add_reduced(b, n, n->inputs[0], d_y);
  if (grad_needed(b, n->inputs[1])) add_reduced(b, n, n->inputs[1], scaled(b, n, d_y, -1));
}

/* A square: both factors have the same gradient, which is made once and doubled. */
static void backward_square(Grad *b, const Node *n) {
  ValueId x = n->inputs[0];
  if (!grad_needed(b, x)) return;
  grad_add(b, x, scaled(b, n, rule_grad1(b, n, OP_multiply, grad_output(b, n, 0), x, x), 2));
}

static void backward_multiply(Grad *b, const Node *n) {
  if (n->inputs[0] == n->inputs[1]) {
    backward_square(b, n);
    return;
  }
  ValueId d_y = grad_output(b, n, 0);
  for (int32_t i = 0; i < 2; i++) {
    if (!grad_needed(b, n->inputs[i])) continue;
    ValueId other = n->inputs[1 - i];
    add_reduced(b, n, n->inputs[i], rule_grad1(b, n, OP_multiply, d_y, other, d_y));
  }
}

static void lower_affine(const Graph *g, const Node *n, Lowered *out) {
  lower_elements(g, n, out);
  LOWER_ATTRS(out, n->attrs[0], n->attrs[1]);
}

static uint32_t affine_layout(const double *attrs) {
  return attrs[1] == 0
             ? LAYOUT_LINEAR
             : 0; /* with a shift it is not linear: each partial sum would add the shift */
}

static void backward_affine(Grad *b, const Node *n) {
  ValueId x = n->inputs[0];
  if (grad_needed(b, x)) grad_add(b, x, scaled(b, n, grad_output(b, n, 0), n->attrs[0]));
}

const OpDef op_add = {.name = "add",
                      .shape = shape_commuting,
                      .backward = backward_add,
                      .lower = lower,
                      .in_place = 0,
                      .is_light = true,
                      .layout = LAYOUT_LINEAR};
const OpDef op_subtract = {.name = "subtract",
                           .shape = shape_ordered,
                           .backward = backward_subtract,
                           .lower = lower,
                           .in_place = 0,
                           .is_light = true};
const OpDef op_multiply = {.name = "multiply",
                           .shape = shape_commuting,
                           .backward = backward_multiply,
                           .lower = lower,
                           .in_place = 0,
                           .is_light = true,
                           .layout = LAYOUT_AS_FORWARD,
                           .is_gate = true,
                           .gradient_of = &op_multiply};
const OpDef op_sum_to = {.name = "sum_to",
                         .shape = rule_given,
                         .lower = lower_sum_to,
                         .in_place = -1,
                         .layout = LAYOUT_LINEAR};
const OpDef op_affine = {.name = "affine",
                         .shape = rule_output_like_input,
                         .backward = backward_affine,
                         .lower = lower_affine,
                         .in_place = 0,
                         .is_light = true,
                         .layout_with = affine_layout};
