/* mse.c -- loss += sum over elements of (y - target)^2.
 *
 *   d_y = 2 (y - target) weight / (loss_count features)
 *
 * inputs: y, target, of the same dims. Outputs: the loss (sum, number of elements), which
 * accumulates over micro-batches; in training d_y. loss_count is a number of tokens, so the mean is
 * over its product with the features. */
#include "compiler/graph/ops/rule.h"

static bool shape(Graph *g, Node *n) {
  if (!rule_numbers(g, n, 2)) return false;
  DimList y = rule_dims(g, n->inputs[0]), target = rule_dims(g, n->inputs[1]);
  if (!rule_same_dims(&y, &target))
    return error_at(g->compile, n->origin, "loss-shape", "mse: prediction is %s, target is %s",
                    rule_dims_text(g, &y), rule_dims_text(g, &target));
  if (rule_made(n)) return true;
  rule_loss(g, n, "mse");
  if (g->training) rule_output_like(g, n, n->inputs[0]);
  return true;
}

static void backward(Grad *b, const Node *n) {
  if (grad_needed(b, n->inputs[0])) grad_add(b, n->inputs[0], n->outputs[1]);
  if (!grad_needed(b, n->inputs[1])) return;
  Node minus = *n;
  minus.attrs[0] = -1;
  minus.attrs[1] = minus.attrs[LOSS_ATTR_WEIGHTED] = minus.attrs[LOSS_ATTR_WEIGHT] = 0;
  grad_add(b, n->inputs[1], rule_grad1(b, &minus, OP_affine, n->outputs[1], NO_ID, n->inputs[1]));
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  lower_elements(g, n, out);
  if (!g->training) return;
  out->kernel = "mse_train";
  LOWER_ATTRS(out, node_loss_weight(n) /
                       ((double)g->loss_count * (double)value_features(g, n->inputs[0])));
}

const OpDef op_mse = {.name = "mse",
                      .shape = shape,
                      .backward = backward,
                      .lower = lower,
                      .in_place = -1,
                      .layout = LAYOUT_WHOLE_FEATURES};
