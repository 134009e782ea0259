/* dropout.c -- y = x / (1 - rate) where kept, 0 else.      d_x is the same op on d_y
 *
 * attrs: rate. The mask is a function of the op's path, the step and the element's number in the
 * global batch, so backward and a recomputation draw it again and nothing is kept. A value without
 * batch has one mask for all samples of a step. */
#include "compiler/ops/rule.h"

static bool shape(Graph *g, Node *n) {
  if (!(n->attrs[0] >= 0 && n->attrs[0] < 1))
    return error_at(g->compile, n->origin, "dropout-rate",
                    "dropout: the rate is a share of the elements, 0 <= rate < 1; got %g",
                    n->attrs[0]);
  return rule_output_like_input(g, n);
}

static void backward(Grad *b, const Node *n) {
  ValueId x = n->inputs[0];
  if (grad_needed(b, x))
    grad_add(b, x, rule_grad1(b, n, OP_dropout, grad_output(b, n, 0), NO_ID, x));
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  ValueId x = n->inputs[0];
  int64_t elements = value_elements(g, x), samples = rule_samples(g, x);
  LOWER_DIMS(out, elements, samples > 0 ? elements / samples : 0);
  LOWER_ATTRS(out, n->attrs[0]);
  out->random = true;
}

const OpDef op_dropout = {.name = "dropout",
                          .shape = shape,
                          .backward = backward,
                          .lower = lower,
                          .in_place = 0,
                          .paper = "Srivastava et al., JMLR 15, 2014"};
