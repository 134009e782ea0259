/* ids.c -- what the ids of an input mean: rows of a table, or classes of a loss. That gives the
 * limit below which they must lie, and shows that the loss compares with the right ids. */
#include "compiler/graph/model/trace.h"
#include "runtime/plan/plan_inputs.h"

/* The smallest limit is the one that all uses of an input accept. */
static void bound(GraphInput *input, int64_t ids) {
  if (input->vocab == 0 || ids < input->vocab) input->vocab = ids;
}

static const char *list_features(Graph *g, ValueId v) {
  DimList features = value_features_of(g, v);
  return dims_text(g, &features);
}

/* The model must not read the targets before the loss compares with them. */
static bool check_table(Trace *t, const Node *n) {
  Graph *g = t->g;
  const Value *table = graph_value(g, n->inputs[0]), *ids = graph_value(g, n->inputs[1]);
  if (ids->kind != VALUE_INPUT) return true; /* positions */
  GraphInput *input = &g->inputs.at[ids->input];
  if (input->role == INPUT_TARGETS)
    return error_at(g->compile, n->origin, "wrong-ids",
                    "%s: '%s' are what the model must predict; only the loss may read them",
                    op_def(n->op)->name, input->name);
  if (input->role == INPUT_BEGINS)
    return error_at(g->compile, n->origin, "wrong-ids", "%s: '%s' is read by attention only",
                    op_def(n->op)->name, input->name);
  bound(input, g->dims.at[table->dims[0]].size);
  return true;
}

/* The first table in which tokens are looked up, or NULL. */
static const Node *token_table(const Graph *g) {
  for (NodeId i = 0; i < g->nodes.count; i++) {
    const Node *n = graph_node(g, i);
    if (op_def(n->op)->ids != IDS_OF_ROWS) continue;
    const Value *ids = graph_value(g, n->inputs[1]);
    if (ids->kind == VALUE_INPUT && g->inputs.at[ids->input].role == INPUT_TOKENS) return n;
  }
  return NULL;
}

/* Targets are tokens, so a model with a vocabulary of 256 needs at least 256 classes. */
static bool check_classes(Trace *t, const Node *loss, const Dim *classes) {
  Graph *g = t->g;
  const Node *look_up = token_table(g);
  if (look_up == NULL) return true;
  const Dim *rows = &g->dims.at[graph_value(g, look_up->inputs[0])->dims[0]];
  if (classes->size >= rows->size) return true;
  const char *name = op_def(loss->op)->name;
  error_at(g->compile, loss->origin, "loss-shape",
           "%s: targets are tokens, %lld of them (%s), but the logits %s have %lld class%s", name,
           (long long)rows->size, rows->name, list_features(g, loss->inputs[0]),
           (long long)classes->size, plural_es(classes->size));
  fix_last(g->compile, "%s(linear(\"head\", x, \"%s\"), targets)", name, rows->name);
  note_at(g->compile, look_up->origin, "tokens are looked up here");
  return false;
}

static bool check_loss(Trace *t, const Node *n) {
  Graph *g = t->g;
  const Value *ids = graph_value(g, n->inputs[1]);
  GraphInput *input = ids->kind == VALUE_INPUT ? &g->inputs.at[ids->input] : NULL;
  bool is_position = input == NULL || input_is_of_documents(input->role);
  if (is_position || input->role == INPUT_TOKENS) {
    error_at(g->compile, n->origin, "wrong-ids", "%s: %s", op_def(n->op)->name,
             is_position ? "positions are counted, not learned; targets come from "
                           "input(\"targets\", { \"batch\", \"seq\" }, \"ids\")"
                         : "these are the tokens that the model sees, not those that come next");
    fix_last(g->compile, "input(\"targets\", { \"batch\", \"seq\" }, \"ids\")");
    return false;
  }
  DimList features = value_features_of(g, n->inputs[0]);
  const Dim *classes = &g->dims.at[features.at[0]];
  if (input->role == INPUT_TARGETS && !check_classes(t, n, classes)) return false;
  if (input->role == INPUT_COLUMNS) input->role = INPUT_CLASSES;
  bound(input, classes->size);
  return true;
}

bool trace_check_ids(Trace *t) {
  Graph *g = t->g;
  bool good = true;
  for (RegionId r = 0; r < g->regions.count; r++) {
    const NodeList *list = &g->regions.at[r].forward;
    for (int32_t i = 0; i < list->count; i++) {
      const Node *n = graph_node(g, list->at[i]);
      IdsOf ids = op_def(n->op)->ids;
      if (ids == IDS_OF_ROWS) good = check_table(t, n) && good;
      if (ids == IDS_OF_CLASSES) good = check_loss(t, n) && good;
    }
  }
  return good;
}
