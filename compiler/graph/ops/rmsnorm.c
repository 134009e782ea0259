/* rmsnorm.c -- y = x / sqrt(mean(x^2) + eps) * (weight + offset) over the dims of the weight.
 *
 * With n = x rstd and g = d_y (weight + offset):
 *   d_x = rstd (g - n mean(g n))      d_weight = sum of d_y n
 *
 * inputs: x, weight (dims: the last of x's features, or all). Outputs: y; rstd of each row. attrs:
 * eps, offset. */
#include "compiler/graph/ops/rule.h"

enum { EPS, OFFSET };

static bool shape(Graph *g, Node *n) {
  if (!rule_numbers(g, n, 1)) return false;
  if (!rule_norm_weight(g, n, n->inputs[1])) return false;
  if (rule_made(n)) return true;
  rule_output(g, n, rule_dims(g, n->inputs[0]), g->compute_dtype);
  rule_output_extra(g, n, "rstd", rule_rows(g, n->inputs[0], n->inputs[1]),
                    rule_statistics_dtype(g));
  return true;
}

static void backward(Grad *b, const Node *n) {
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

const OpDef op_rmsnorm = {.name = "rmsnorm",
                          .shape = shape,
                          .backward = backward,
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
