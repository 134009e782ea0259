#include "compiler/graph/grad/prepare.h"

#include "compiler/graph/ops/op.h"

static bool check_param(Graph *g, const Node *n, const Value *value) {
  const Region *home = &g->regions.at[g->params.at[value->param].region];
  const Region *here = &g->regions.at[n->region];
  if (home == here || (!home->is_stack && !here->is_stack)) return true;
  const char *name = g->params.at[value->param].name;
  if (here->is_stack)
    error_at(g->compile, n->origin, "shared-in-stack",
             "stack '%s': parameter '%s' is made outside the block; the layers would share one "
             "gradient",
             here->name, name);
  else
    error_at(g->compile, n->origin, "shared-in-stack",
             "parameter '%s' is made in the block of stack '%s', once a layer; outside there is no "
             "layer",
             name, home->name);
  note_at(g->compile, g->params.at[value->param].origin, "'%s' is made here", name);
  return false;
}

static bool check_activation(Graph *g, const Node *n, ValueId v) {
  const Value *value = graph_value(g, v);
  const Region *here = &g->regions.at[n->region];
  if (value->region == n->region || v == here->input) return true;
  const char *name = value->name ? value->name : "a value";
  if (here->is_stack)
    error_at(g->compile, n->origin, "captured-in-stack",
             "stack '%s': '%s' %s is made outside the block; a block takes one value and returns "
             "one",
             here->name, name, value_dims_text(g, v));
  else
    error_at(g->compile, n->origin, "skips-stack",
             "'%s' %s is made before a stack and used after it; only what the stack returns is "
             "there",
             name, value_dims_text(g, v));
  if (value->producer != NO_ID)
    note_at(g->compile, graph_node(g, value->producer)->origin, "it is made here");
  return false;
}

bool prepare_check(Graph *g) {
  bool good = true;
  for (RegionId r = 0; r < g->regions.count; r++) {
    const NodeList *forward = &g->regions.at[r].forward;
    for (int32_t i = 0; i < forward->count; i++) {
      const Node *n = graph_node(g, forward->at[i]);
      for (int32_t k = 0; k < n->input_count; k++) {
        const Value *value = graph_value(g, n->inputs[k]);
        if (value->kind == VALUE_PARAM) good &= check_param(g, n, value);
        if (value->kind == VALUE_ACTIVATION) good &= check_activation(g, n, n->inputs[k]);
      }
    }
  }
  return good;
}

/* Puts a copy of input k of node `id` before it, and lets the outputs that were views of the
 * original be views of the copy. */
static void copy_before(Graph *g, NodeList *list, int32_t position, int32_t k) {
  NodeId id = list->at[position];
  Node n = *graph_node(g, id);
  NodeList made = {0};
  Node copy = {.op = OP_copy,
               .input_count = 1,
               .inputs = {n.inputs[k]},
               .region = n.region,
               .path = n.path,
               .clone_of = NO_ID,
               .origin = n.origin};
  NodeId copy_id = op_append(g, &made, copy);
  ValueId fresh = graph_node(g, copy_id)->outputs[0];
  for (int32_t i = 0; i < n.output_count; i++)
    if (graph_value(g, n.outputs[i])->view_of == n.inputs[k])
      graph_value(g, n.outputs[i])->view_of = fresh;
  graph_node(g, id)->inputs[k] = fresh;
  VEC_PUSH(g->compile->arena, list, NO_ID);
  for (int32_t i = list->count - 1; i > position; i--)
    list->at[i] = list->at[i - 1];
  list->at[position] = copy_id;
}

static bool reads(const Graph *g, const Node *n, ValueId v) {
  for (int32_t k = 0; k < n->input_count; k++)
    for (ValueId in = n->inputs[k]; in != NO_ID; in = graph_value(g, in)->view_of)
      if (in == v) return true;
  return false;
}

/* True if another node needs the value after this node has overwritten it: a later one, or the
 * backward of an earlier one. That of losses, and of what is linear, does not. */
static bool is_read_besides(const Graph *g, const Region *region, int32_t position, ValueId v) {
  if (region->output == v) return true;
  for (int32_t i = 0; i < region->forward.count; i++) {
    const Node *n = graph_node(g, region->forward.at[i]);
    const bool keeps_nothing = (op_def(n->op)->layout & LAYOUT_LINEAR) != 0 ||
                               graph_value(g, n->outputs[0])->kind == VALUE_LOSS;
    if (i != position && reads(g, n, v) && (i > position || !keeps_nothing)) return true;
  }
  return false;
}

void prepare_overwritten(Graph *g) {
  for (RegionId r = 0; r < g->regions.count; r++) {
    NodeList *forward = &g->regions.at[r].forward;
    for (int32_t i = 0; i < forward->count; i++) {
      NodeId id = forward->at[i];
      for (int32_t k = 0; k < graph_node(g, id)->input_count; k++) {
        if (!(op_def(graph_node(g, id)->op)->overwrites >> k & 1)) continue;
        ValueId v = graph_node(g, id)->inputs[k];
        const Value *value = graph_value(g, v);
        bool own = value->producer != NO_ID && value->region == r && value->view_of == NO_ID;
        if (!own || is_read_besides(g, &g->regions.at[r], i, v)) copy_before(g, forward, i++, k);
      }
    }
  }
}

typedef struct Uses {
  bool *read, *live; /* by ValueId: by any node; by one that leads to the loss */
} Uses;

static bool any_output(const Node *n, const bool *set) {
  for (int32_t i = 0; i < n->output_count; i++)
    if (set[n->outputs[i]]) return true;
  return false;
}

static void drop_dead_nodes(Graph *g, Region *region, Uses uses) {
  NodeList *forward = &region->forward;
  if (region->output != NO_ID) uses.read[region->output] = uses.live[region->output] = true;
  for (int32_t i = forward->count - 1; i >= 0; i--) {
    const Node *n = graph_node(g, forward->at[i]);
    bool live = any_output(n, uses.live);
    if (!live && !any_output(n, uses.read))
      lint_at(g->compile, n->origin, "unused-value", "%s: its result is not used; it is dropped",
              op_def(n->op)->name);
    for (int32_t k = 0; k < n->input_count; k++) {
      uses.read[n->inputs[k]] = true;
      uses.live[n->inputs[k]] |= live;
    }
    if (!live) forward->at[i] = NO_ID;
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < forward->count; i++)
    if (forward->at[i] != NO_ID) forward->at[kept++] = forward->at[i];
  forward->count = kept;
}

void prepare_drop_dead(Graph *g) {
  Arena *arena = g->compile->arena;
  Uses uses = {ARENA_ARRAY(arena, bool, g->values.count),
               ARENA_ARRAY(arena, bool, g->values.count)};
  for (int32_t i = 0; i < g->losses_count; i++)
    uses.read[g->losses[i]] = uses.live[g->losses[i]] = true;
  for (RegionId r = g->regions.count - 1; r >= 0; r--)
    drop_dead_nodes(g, &g->regions.at[r], uses);
}
