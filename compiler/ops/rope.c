/* rope.c -- turns elements j and j + head/2 of each head by position * base^(-2j/head).
 *
 *   d_x is the same op on d_y with the sign of the angle turned
 *
 * inputs: x [batch, seq, heads, head]. attrs: base, sign (set here: +1 forward).
 * Positions are those in the whole sequence, also when seq is cut. */
#include "compiler/ops/rule.h"

enum { BASE, SIGN };

static bool shape(Graph *g, Node *n) {
  ValueId x = n->inputs[0];
  if (!rule_numbers(g, n, 1) || !rule_needs_seq(g, n, x)) return false;
  DimList features = rule_features(g, x);
  if (features.count != 2 || g->dims.at[features.at[1]].size % 2 != 0)
    return error_at(g->compile, n->origin, "rope-shape",
                    "rope: expected features [heads, head] with an even head, got %s",
                    rule_dims_text(g, &features));
  if (!(n->attrs[BASE] > 0))
    return error_at(g->compile, n->origin, "rope-base", "rope: base is above 0; got %g",
                    n->attrs[BASE]);
  if (n->attrs[SIGN] == 0) n->attrs[SIGN] = 1;
  if (!rule_made(n)) rule_output_like(g, n, x);
  return true;
}

static void backward(Grad *b, const Node *n) {
  ValueId x = n->inputs[0];
  if (!grad_needed(b, x)) return;
  Node back = *n;
  back.attrs[SIGN] = -n->attrs[SIGN];
  grad_add(b, x, rule_grad1(b, &back, OP_rope, grad_output(b, n, 0), NO_ID, x));
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  ValueId x = n->inputs[0], y = n->outputs[0];
  Tokens tokens = rule_tokens(g, x);
  DimList features = rule_features(g, x), carried = rule_carried(g, x);
  LOWER_DIMS(out, tokens.batch, tokens.seq, g->dims.at[features.at[0]].size,
             g->dims.at[features.at[1]].size, value_row_stride(g, x), value_row_stride(g, y));
  LOWER_ATTRS(out, n->attrs[BASE], n->attrs[SIGN], 0, 0);
  lower_runs(g, out, 2, carried.at[carried.count - 1]);
}

const OpDef op_rope = {.name = "rope",
                       .shape = shape,
                       .backward = backward,
                       .lower = lower,
                       .in_place = 0,
                       .reads_views = 1,
                       .writes_views = 1,
                       .paper = "arXiv:2104.09864",
                       .layout = LAYOUT_LINEAR | LAYOUT_WHOLE_TOKENS};
