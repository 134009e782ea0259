/* layernorm.c -- y = (x - mean) / sqrt(variance + eps) * (weight + offset) + bias over the dims of
 * the weight.
 *
 * With n = (x - mean) rstd and g = d_y (weight + offset):
 *   d_x = rstd (g - mean(g) - n mean(g n))     d_weight = sum of d_y n      d_bias = sum of d_y
 *
 * inputs: x, weight, bias (dims: the last of x's features, or all). Outputs: y; mean and rstd of
 * each row. attrs: eps, offset. */
#include <assert.h>

#include "compiler/graph/ops/rule.h"

enum { EPS, OFFSET };

static bool shape(Graph *g, Node *n) {
  if (!rule_numbers(g, n, 1)) return false;
  assert(n->input_count == 3);
  if (!rule_norm_weight(g, n, n->inputs[1]) || !rule_norm_weight(g, n, n->inputs[2])) return false;
  if (rule_made(n)) return true;
  rule_output(g, n, rule_dims(g, n->inputs[0]), g->compute_dtype);
  rule_output_extra(g, n, "stats", 2 * rule_rows(g, n->inputs[0], n->inputs[1]),
                    rule_statistics_dtype(g));
  return true;
}

static void backward(Grad *b, const Node *n) {
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
                            .backward = backward,
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
