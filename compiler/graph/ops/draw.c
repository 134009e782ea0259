/* draw.c -- in place of cross_entropy where a model is sampled: draws a class of each sample that
 * has a target of 0 or more, of the logits of that token (kernels.def).
 *
 * last_token: a token of each sample. inputs: x [batch, seq, features], targets [batch, seq].
 * Output: [batch, features].
 *
 * draw: inputs: logits [batch, classes], targets and places [batch, seq]. attrs: temperature,
 * top_k, top_p. Output: of each sample the class drawn, and its log probability. All ranks have all
 * logits, so that they draw the same. */
#include "compiler/graph/ops/rule.h"

enum { TEMPERATURE, TOP_K, TOP_P };

static bool shape_last(Graph *g, Node *n) {
  if (!rule_numbers(g, n, 1) || !rule_needs_seq(g, n, n->inputs[0])) return false;
  DimList dims = {1, {rule_carried(g, n->inputs[0]).at[0]}};
  const DimList features = rule_features(g, n->inputs[0]);
  for (int32_t i = 0; i < features.count; i++)
    dims.at[dims.count++] = features.at[i];
  if (!rule_made(n)) rule_output(g, n, dims, graph_value(g, n->inputs[0])->dtype);
  return true;
}

static void lower_last(const Graph *g, const Node *n, Lowered *out) {
  const Tokens tokens = rule_tokens(g, n->inputs[0]);
  LOWER_DIMS(out, tokens.batch, tokens.seq, value_elements(g, n->outputs[0]) / tokens.batch);
}

static bool shape(Graph *g, Node *n) {
  if (!rule_numbers(g, n, 1)) return false;
  DimList classes = rule_features(g, n->inputs[0]), tokens = rule_carried(g, n->inputs[0]);
  DimList have = rule_dims(g, n->inputs[1]);
  if (classes.count != 1 || graph_value(g, n->inputs[1])->dtype != DTYPE_I32 || tokens.count != 1 ||
      have.count != 2 || have.at[0] != tokens.at[0])
    return error_at(g->compile, n->origin, "loss-shape",
                    "draw: expected logits of one feature dimension and their ids, got %s and %s",
                    value_dims_text(g, n->inputs[0]), value_dims_text(g, n->inputs[1]));
  if (!rule_made(n)) rule_loss(g, n, "draw");
  graph_value(g, n->outputs[0])->extra_elements = 2 * rule_samples(g, n->inputs[1]);
  return true;
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  DimId vocab = rule_features(g, n->inputs[0]).at[0];
  const Dim *whole = &g->dims.at[rule_whole_dim(g, vocab)];
  Tokens tokens = rule_tokens(g, n->inputs[1]);
  LOWER_DIMS(out, tokens.batch, tokens.seq, g->dims.at[vocab].size,
             whole->real_size > 0 ? whole->real_size : whole->size);
  LOWER_ATTRS(out, n->attrs[TEMPERATURE], n->attrs[TOP_K], n->attrs[TOP_P]);
  out->random = n->attrs[TEMPERATURE] > 0;
}

/* pick: one element of input 0, which the host asks for; input 1, what a loss would compare it
 * with, is not read. */
static bool shape_pick(Graph *g, Node *n) {
  if (!rule_made(n)) rule_loss(g, n, "pick");
  return true;
}

static void lower_pick(const Graph *g, const Node *n, Lowered *out) {
  LOWER_DIMS(out, value_elements(g, n->inputs[0]));
}

const OpDef op_pick = {.name = "pick",
                       .shape = shape_pick,
                       .lower = lower_pick,
                       .in_place = -1,
                       .layout = LAYOUT_WHOLE_FEATURES};
const OpDef op_last_token = {.name = "last_token",
                             .shape = shape_last,
                             .lower = lower_last,
                             .in_place = -1,
                             .layout = LAYOUT_WHOLE_TOKENS};
const OpDef op_draw = {.name = "draw",
                       .shape = shape,
                       .lower = lower,
                       .in_place = -1,
                       .ids = IDS_OF_CLASSES,
                       .layout = LAYOUT_WHOLE_FEATURES};
