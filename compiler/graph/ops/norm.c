/* norm.c -- layernorm and rmsnorm over the dims of the weight: the last of x's features, or all.
 *
 * layernorm: y = (x - mean) / sqrt(variance + eps) * (weight + offset) + bias
 * rmsnorm:   y = x / sqrt(mean(x^2) + eps) * (weight + offset)
 *
 * With n the normalised x, rstd its scale and g = d_y (weight + offset):
 *   layernorm: d_x = rstd (g - mean(g) - n mean(g n))
 *   rmsnorm:   d_x = rstd (g - n mean(g n))
 *   both:      d_weight = sum of d_y n; layernorm: d_bias = sum of d_y
 *
 * inputs: x, weight, and of layernorm bias. Outputs: y; of each row rstd, and of layernorm its mean
 * before it. attrs: eps, offset. */
#include <assert.h>

#include "compiler/graph/ops/rule.h"

enum { EPS, OFFSET };

static bool shape(Graph *g, Node *n) {
  const bool has_mean = n->op == OP_layernorm;
  const ValueId x = n->inputs[0], weight = n->inputs[1];
  if (!rule_numbers(g, n, 1)) return false;
  assert(n->input_count == (has_mean ? 3 : 2));
  if (!rule_norm_weight(g, n, weight)) return false;
  if (has_mean && !rule_norm_weight(g, n, n->inputs[2])) return false;
  if (rule_made(n)) return true;
  rule_output(g, n, rule_dims(g, x), g->compute_dtype);
  rule_output_extra(g, n, has_mean ? "stats" : "rstd", (has_mean ? 2 : 1) * rule_rows(g, x, weight),
                    rule_statistics_dtype(g));
  return true;
}

static void layernorm_backward(Grad *b, const Node *n) {
  ValueId x = n->inputs[0], d_x = grad_like(b, x);
  Accumulate of_weight, of_bias;
  ValueId d_weight = grad_param(b, n->inputs[1], &of_weight);
  ValueId d_bias = grad_param(b, n->inputs[2], &of_bias);
  assert(of_weight ==
         of_bias); /* one flag for both: weight and bias are made and shared together */
  NodeId id =
      grad_append(b, n, OP_layernorm_backward,
                  (const ValueId[]){grad_output(b, n, 0), x, n->inputs[1], n->outputs[1], NO_ID},
                  (const ValueId[]){d_x, d_weight, d_bias, NO_ID});
  graph_node(b->graph, id)->accumulate = of_weight;
  if (grad_needed(b, x)) grad_add(b, x, d_x);
}

static void rmsnorm_backward(Grad *b, const Node *n) {
  ValueId x = n->inputs[0], weight = n->inputs[1], d_x = grad_like(b, x);
  Accumulate accumulate;
  ValueId d_weight = grad_param(b, weight, &accumulate);
  NodeId id = grad_append(b, n, OP_rmsnorm_backward,
                          (const ValueId[]){grad_output(b, n, 0), x, weight, n->outputs[1], NO_ID},
                          (const ValueId[]){d_x, d_weight, NO_ID});
  graph_node(b->graph, id)->accumulate = accumulate;
  if (grad_needed(b, x)) grad_add(b, x, d_x);
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  rule_norm_rows(g, n->inputs[0], n->inputs[1], out);
  LOWER_ATTRS(out, n->attrs[EPS], n->attrs[OFFSET]);
}

static void lower_backward(const Graph *g, const Node *n, Lowered *out) {
  rule_norm_rows(g, n->inputs[1], n->inputs[2], out);
  LOWER_ATTRS(out, n->attrs[OFFSET]);
}

const OpDef op_layernorm = {.name = "layernorm",
                            .shape = shape,
                            .backward = layernorm_backward,
                            .lower = lower,
                            .in_place = -1,
                            .is_light = true,
                            .paper = "arXiv:1607.06450",
                            .layout = LAYOUT_WHOLE_FEATURES};
const OpDef op_layernorm_backward = {.name = "layernorm_backward",
                                     .shape = rule_given,
                                     .lower = lower_backward,
                                     .in_place = -1,
                                     .layout = LAYOUT_WHOLE_FEATURES};
const OpDef op_rmsnorm = {.name = "rmsnorm",
                          .shape = shape,
                          .backward = rmsnorm_backward,
                          .lower = lower,
                          .in_place = -1,
                          .is_light = true,
                          .paper = "arXiv:1910.07467",
                          .layout = LAYOUT_WHOLE_FEATURES};
const OpDef op_rmsnorm_backward = {.name = "rmsnorm_backward",
                                   .shape = rule_given,
                                   .lower = lower_backward,
                                   .in_place = -1,
                                   .layout = LAYOUT_WHOLE_FEATURES};
