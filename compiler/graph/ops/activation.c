/* activation.c -- y = f(x), element by element; d_x = d_y f'(x), computed from x, so that y need
 * not be kept.
 *
 * gelu is the tanh approximation, gelu_erf the exact form; silu(x) = x / (1 + exp(-x)); relu; tanh.
 */
#include "compiler/graph/ops/rule.h"

static void backward(Grad *b, const Node *n, OpKind op) {
  ValueId x = n->inputs[0];
  if (grad_needed(b, x)) grad_add(b, x, rule_grad1(b, n, op, grad_output(b, n, 0), x, x));
}

#define ACTIVATION(f, source, ...)                                                                 \
  static void f##_rule(Grad *b, const Node *n) {                                                   \
    backward(b, n, OP_##f##_backward);                                                             \
  }                                                                                                \
  const OpDef op_##f = {.name = #f,                                                                \
                        .shape = rule_output_like_input,                                           \
                        .backward = f##_rule,                                                      \
                        .lower = lower_elements,                                                   \
                        .in_place = 0,                                                             \
                        .is_light = true,                                                          \
                        .paper = (source),                                                         \
                        __VA_ARGS__};                                                              \
  const OpDef op_##f##_backward = {.name = #f "_backward",                                         \
                                   .shape = rule_given,                                            \
                                   .lower = lower_elements,                                        \
                                   .in_place = 0,                                                  \
                                   .paper = (source)};

ACTIVATION(gelu, "arXiv:1606.08415", .call = "gelu", .form = "tanh")
ACTIVATION(gelu_erf, "arXiv:1606.08415", .call = "gelu", .form = "erf")
ACTIVATION(silu, "arXiv:1702.03118", .call = "silu")
ACTIVATION(relu, NULL, .call = "relu")
ACTIVATION(tanh, NULL, .call = "tanh")
