/* recompute.c -- recomputes activations in backward instead of keeping them (arXiv:1604.06174).
 *
 * The producers of all forward values that backward reads are cloned, and so on up to the carried
 * input, which is kept. Nothing else is cloned, so no clone is dead. The statistics of a norm are
 * kept when remaking them would only remake a large result that nobody needs. A clone keeps its
 * original's path: it draws the same dropout mask. A clone is never merged with its original.
 *
 * Selective recomputation (arXiv:2205.05198) clones what costs little beside what it saves: light
 * nodes whose inputs backward reads anyway, or which are clones themselves. */
#include "compiler/graph/backward/backward.h"
#include "compiler/graph/ops/op.h"

typedef struct Clones {
  Graph *graph;
  Region *region;
  RegionId id;
  bool *wanted; /* by ValueId of the forward */
  /* by ValueId, in selective recomputation: the value exists in backward in any case */
  bool *at_hand;
  bool *remade;   /* outputs of nodes that backward needs again; not of those that only remake the
                     next layer's input */
  ValueId *clone; /* by ValueId: what to read instead, or NO_ID */
  int32_t count;  /* number of values before cloning */
} Clones;

/* True if a forward node of the region makes the value; carried input, data and parameters exist
 * anyway. */
static bool made_here(const Clones *c, ValueId v) {
  if (v == NO_ID || v >= c->count || v == c->region->input) return false;
  const Value *value = graph_value(c->graph, v);
  return value->kind == VALUE_ACTIVATION && value->region == c->id && value->producer != NO_ID;
}

static void want(Clones *c, ValueId v) {
  if (v != NO_ID && v < c->count) c->wanted[v] = true;
}

static bool is_selected(const Clones *c, const Node *n) {
  bool selected = op_def(n->op)->is_light;
  for (int32_t k = 0; k < n->input_count && selected; k++)
    selected = !made_here(c, n->inputs[k]) || c->at_hand[n->inputs[k]];
  return selected;
}

static void select_light(Clones *c) {
  const Graph *g = c->graph;
  c->at_hand = ARENA_ARRAY(g->compile->arena, bool, c->count);
  for (ValueId v = 0; v < c->count; v++)
    c->at_hand[v] = c->wanted[v];
  for (int32_t i = 0; i < c->region->forward.count; i++) {
    const Node *n = graph_node(g, c->region->forward.at[i]);
    bool selected = is_selected(c, n);
    for (int32_t k = 0; k < n->output_count && selected; k++)
      c->at_hand[n->outputs[k]] = true;
  }
}

/* True if the node is recomputed. Not for its statistics alone, as of a norm at the end of the
 * block: they are small and are kept. */
static bool is_cloned(const Clones *c, const Node *n) {
  if (c->at_hand != NULL && !is_selected(c, n)) return false;
  for (int32_t k = 0; k < n->output_count; k++) {
    ValueId v = n->outputs[k];
    if (c->wanted[v] && made_here(c, v) && graph_value(c->graph, v)->extra_elements == 0)
      return true;
  }
  return false;
}

static void want_what_backward_reads(Clones *c) {
  for (int32_t i = 0; i < c->region->backward.count; i++) {
    const Node *n = graph_node(c->graph, c->region->backward.at[i]);
    for (int32_t k = 0; k < n->input_count; k++)
      want(c, n->inputs[k]);
  }
}

static void want_inputs_of_clones(Clones *c) {
  for (int32_t i = c->region->forward.count - 1; i >= 0; i--) {
    const Node *n = graph_node(c->graph, c->region->forward.at[i]);
    bool needed = is_cloned(c, n);
    for (int32_t k = 0; needed && k < n->input_count; k++)
      want(c, n->inputs[k]);
  }
}

/* Statistics of a norm that ends the block are kept, as above, although groups remake its result:
 * the last layer of a group does not, and would have no place to write it. */
static void mark_remade(Clones *c) {
  for (int32_t i = 0; i < c->region->forward.count; i++) {
    const Node *n = graph_node(c->graph, c->region->forward.at[i]);
    for (int32_t k = 0; is_cloned(c, n) && k < n->output_count; k++)
      c->remade[n->outputs[k]] = true;
  }
}

static ValueId instead_of(const Clones *c, ValueId v) {
  return v != NO_ID && v < c->count && c->clone[v] != NO_ID ? c->clone[v] : v;
}

static void clone_node(Clones *c, NodeId id) {
  Graph *g = c->graph;
  Node node = *graph_node(g, id);
  NodeId clone_id = g->nodes.count;
  node.clone_of = id;
  for (int32_t k = 0; k < node.input_count; k++)
    node.inputs[k] = instead_of(c, node.inputs[k]);
  for (int32_t k = 0; k < node.output_count; k++) {
    Value value = *graph_value(g, node.outputs[k]);
    value.producer = clone_id;
    value.view_of = instead_of(c, value.view_of);
    c->clone[node.outputs[k]] = graph_add_value(g, value);
    node.outputs[k] = c->clone[node.outputs[k]];
  }
  VEC_PUSH(g->compile->arena, &g->nodes, node);
  VEC_PUSH(g->compile->arena, &c->region->recompute, clone_id);
}

static void read_clones(const Clones *c) {
  for (int32_t i = 0; i < c->region->backward.count; i++) {
    Node *n = graph_node(c->graph, c->region->backward.at[i]);
    for (int32_t k = 0; k < n->input_count; k++) {
      ValueId v = n->inputs[k];
      if (v != NO_ID && v < c->count && c->remade[v]) n->inputs[k] = instead_of(c, v);
    }
  }
}

static void recompute_region(Graph *g, RegionId r, bool selective, bool with_output) {
  Clones c = {.graph = g, .region = &g->regions.at[r], .id = r, .count = g->values.count};
  c.wanted = ARENA_ARRAY(g->compile->arena, bool, c.count);
  c.remade = ARENA_ARRAY(g->compile->arena, bool, c.count);
  c.clone = ARENA_ARRAY(g->compile->arena, ValueId, c.count);
  for (ValueId v = 0; v < c.count; v++)
    c.clone[v] = NO_ID;
  want_what_backward_reads(&c);
  if (selective) select_light(&c);
  want_inputs_of_clones(&c);
  mark_remade(&c);
  if (with_output) {
    want(&c, c.region->output);
    want_inputs_of_clones(&c);
  }
  for (int32_t i = 0; i < c.region->forward.count; i++) {
    NodeId id = c.region->forward.at[i];
    if (is_cloned(&c, graph_node(g, id))) clone_node(&c, id);
  }
  read_clones(&c);
  c.region->output_recomputed = with_output;
  c.region->output_again = with_output ? instead_of(&c, c.region->output) : NO_ID;
}

void recompute_apply(Graph *g, RecomputeKind kind, int64_t group_layers) {
  if (kind == RECOMPUTE_NONE) return;
  for (RegionId r = 0; r < g->regions.count; r++)
    if (g->regions.at[r].is_stack)
      recompute_region(g, r, kind == RECOMPUTE_SELECTIVE,
                       kind == RECOMPUTE_EVERY && group_layers > 1);
}
