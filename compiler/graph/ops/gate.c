/* gate.c -- y = f(a) b, element by element, f an activation (arXiv:2002.05202). Model files
 * multiply the result of an activation; grad/gates.c joins the two, so that f(a) is never in
 * memory.
 *
 *   d_a = d_y b f'(a)      d_b = d_y f(a)
 *
 * backward computes y once more and hands it to the nodes that read it (the weight gradient of the
 * layer after the gate), so that of four values of this size only a and b are kept for backward.
 *
 * inputs: a, b. attrs: form (kernels/contract/gate.h). Outputs of gate_backward: d_a, d_b, y. */
#include "kernels/contract/gate.h"

#include "compiler/graph/ops/rule.h"

enum { FORM };

int32_t op_gate_form(int32_t op) {
  switch (op) {
  case OP_gelu: return GATE_GELU;
  case OP_gelu_erf: return GATE_GELU_ERF;
  case OP_silu: return GATE_SILU;
  case OP_relu: return GATE_RELU;
  case OP_tanh: return GATE_TANH;
  default: return NO_ID;
  }
}

static void backward(Grad *b, const Node *n) {
  const ValueId a = n->inputs[0], other = n->inputs[1], y = n->outputs[0];
  const ValueId d_a = grad_like(b, a), d_other = grad_like(b, other), again = grad_like(b, y);
  graph_value(b->graph, again)->name = graph_value(b->graph, y)->name;
  grad_append(b, n, OP_gate_backward, (const ValueId[]){grad_output(b, n, 0), a, other, NO_ID},
              (const ValueId[]){d_a, d_other, again, NO_ID});
  grad_again(b, y, again);
  if (grad_needed(b, a)) grad_add(b, a, d_a);
  if (grad_needed(b, other)) grad_add(b, other, d_other);
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  lower_elements(g, n, out);
  LOWER_ATTRS(out, n->attrs[FORM]);
}

const OpDef op_gate = {.name = "gate",
                       .shape = rule_output_like_input,
                       .backward = backward,
                       .lower = lower,
                       .in_place = 0,
                       .is_light = true,
                       .paper = "arXiv:2002.05202"};
const OpDef op_gate_backward = {.name = "gate_backward",
                                .shape = rule_given,
                                .lower = lower,
                                .in_place = 0,
                                .paper = "arXiv:2002.05202"};
