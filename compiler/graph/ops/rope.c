/* rope.c -- turns elements j and j + head/2 of each head by position * base^(-2j/head), or slower
 * (kernels/math/rope.h: Llama 3.1's scaling).
 *
 *   d_x is the same op on d_y with the sign of the angle turned
 *
 * inputs: x [batch, seq, heads, head]. attrs: base, sign (set here: +1 forward), factor (0 or 1: no
 * scaling), low_freq, high_freq, original_positions.
 * Positions are those in the whole sequence, also when seq is cut. */
#include <float.h>

#include "compiler/graph/ops/rule.h"

enum { BASE, SIGN, FACTOR, LOW_FREQ, HIGH_FREQ, ORIGINAL_POSITIONS };

static bool scaling_fits(Graph *g, const Node *n) {
  const double *a = n->attrs;
  if (a[FACTOR] == 1) return true;
  if (a[FACTOR] > 1 && a[LOW_FREQ] > 0 && a[HIGH_FREQ] > a[LOW_FREQ] && a[ORIGINAL_POSITIONS] >= 1)
    return true;
  return error_at(
      g->compile, n->origin, "rope-scaling",
      "rope: factor is 1 or more, 0 < low_freq < high_freq, and original_positions 1 or "
      "more; got factor %g, low_freq %g, high_freq %g, original_positions %g",
      a[FACTOR], a[LOW_FREQ], a[HIGH_FREQ], a[ORIGINAL_POSITIONS]);
}

static bool shape(Graph *g, Node *n) {
  ValueId x = n->inputs[0];
  if (!rule_numbers(g, n, 1) || !rule_needs_seq(g, n, x)) return false;
  DimList features = rule_features(g, x);
  if (features.count != 2)
    return error_at(g->compile, n->origin, "rope-shape",
                    "rope: expected features [heads, head], got %s", rule_dims_text(g, &features));
  const Dim *head = &g->dims.at[features.at[1]];
  if (head->size % 2 != 0)
    return rule_size_error(g, n, features.at[1], features.at[1], "rope-shape",
                           "rope: pairs of numbers are turned, and %s = %lld is odd", head->name,
                           (long long)head->size);
  if (!(n->attrs[BASE] > 0))
    return error_at(g->compile, n->origin, "rope-base", "rope: base is above 0; got %g",
                    n->attrs[BASE]);
  if (n->attrs[BASE] < (double)FLT_MIN ||
      n->attrs[BASE] > (double)FLT_MAX) /* no angle is infinite */
    return error_at(g->compile, n->origin, "rope-base",
                    "rope: base is 1.2e-38 to 3.4e38, as fp32 has; got %g", n->attrs[BASE]);
  if (n->attrs[SIGN] == 0) n->attrs[SIGN] = 1;
  if (n->attrs[FACTOR] == 0) n->attrs[FACTOR] = 1;
  if (!scaling_fits(g, n)) return false;
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
  const double *a = n->attrs;
  LOWER_ATTRS(out, a[BASE], a[SIGN], 0, 0, a[FACTOR], a[LOW_FREQ], a[HIGH_FREQ],
              a[ORIGINAL_POSITIONS]);
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
                       .layout = LAYOUT_LINEAR | LAYOUT_WHOLE_TOKENS | LAYOUT_AS_FORWARD,
                       .gradient_of = &op_rope,
                       .blames =
                           (const AttrBlame[]){{"rope-base", BASE}, {"rope-scaling", FACTOR}, {0}}};
