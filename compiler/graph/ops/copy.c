/* copy.c -- y = x, token by token, from a view or into one.      d_x = d_y
 *
 * An op that cannot read with a stride gets a copy of a view (op_dense); a gradient whose producer
 * cannot write with a stride is copied into the view. */
#include "compiler/graph/ops/rule.h"

static bool shape(Graph *g, Node *n) {
  ValueId x = n->inputs[0];
  if (!rule_made(n)) rule_output(g, n, rule_dims(g, x), graph_value(g, x)->dtype);
  return true;
}

static void backward(Grad *b, const Node *n) {
  grad_add(b, n->inputs[0], grad_output(b, n, 0));
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  ValueId x = n->inputs[0], y = n->outputs[0];
  LOWER_DIMS(out, value_rows(g, x), value_features(g, x), value_row_stride(g, x),
             value_row_stride(g, y));
}

const OpDef op_copy = {.name = "copy",
                       .shape = shape,
                       .backward = backward,
                       .lower = lower,
                       .in_place = -1,
                       .is_light = true,
                       .reads_views = 1,
                       .writes_views = 1,
                       .layout = LAYOUT_LINEAR};
