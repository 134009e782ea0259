/* grad.c -- reverse mode: regions from the last to the first, nodes of each from the last to the
 * first. A value's gradient is complete when its producer is reached: all its readers come
 * later in forward. */
#include "compiler/graph/grad/grad.h"

#include <assert.h>

#include "compiler/graph/grad/prepare.h"

static bool has_param(const Graph *g, const Region *region) {
  for (int32_t i = 0; i < region->forward.count; i++) {
    const Node *n = graph_node(g, region->forward.at[i]);
    for (int32_t k = 0; k < n->input_count; k++)
      if (graph_value(g, n->inputs[k])->kind == VALUE_PARAM) return true;
  }
  return false;
}

/* All layers of a stack run the same code, so what the second one needs the first one does too. */
static void mark_needed(Grad *b) {
  Graph *g = b->graph;
  grad_cover(b, g->values.count);
  assert(b->needed);
  for (ValueId v = 0; v < g->values.count; v++)
    b->needed[v] = graph_value(g, v)->kind == VALUE_PARAM;
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    if (region->input != NO_ID) {
      const Region *before = r > 0 ? &g->regions.at[r - 1] : NULL;
      if (before && before->output != NO_ID) b->needed[region->input] |= b->needed[before->output];
      if (region->is_stack && region->repeat > 1 && has_param(g, region))
        b->needed[region->input] = true;
    }
    for (int32_t i = 0; i < region->forward.count; i++) {
      const Node *n = graph_node(g, region->forward.at[i]);
      bool needed = false;
      for (int32_t k = 0; k < n->input_count; k++)
        needed |= b->needed[n->inputs[k]];
      for (int32_t k = 0; k < n->output_count; k++)
        b->needed[n->outputs[k]] = needed && graph_value(g, n->outputs[k])->dtype != DTYPE_I32;
    }
  }
}

/* True when a gradient reaches the node, or starts there, and someone wants it further up. */
static bool wanted(const Grad *b, const Node *n) {
  bool reached = false, needed = false;
  for (int32_t i = 0; i < n->output_count; i++)
    reached |= graph_value(b->graph, n->outputs[i])->kind == VALUE_LOSS ||
               grad_of(b, n->outputs[i]) != NO_ID;
  for (int32_t i = 0; i < n->input_count; i++)
    needed |= grad_needed(b, n->inputs[i]);
  return reached && needed;
}

static bool made_in(const Graph *g, const NodeList *list, ValueId v) {
  for (int32_t i = 0; i < list->count; i++) {
    const Node *n = graph_node(g, list->at[i]);
    for (int32_t k = 0; k < n->output_count; k++)
      if (n->outputs[k] == v) return true;
  }
  return false;
}

/* The carried gradient is made here and owns its storage: the next layer down finds it there. */
static void finish_input(Grad *b, const Node *last) {
  Region *region = b->region;
  Graph *g = b->graph;
  if (region->input == NO_ID || !grad_needed(b, region->input)) return;
  ValueId d = grad_of(b, region->input);
  if (d != NO_ID && (!made_in(g, b->list, d) || graph_value(g, d)->view_of != NO_ID)) {
    ValueId own = grad_like(b, region->input);
    grad_append(b, last, OP_copy, (const ValueId[]){d, NO_ID}, (const ValueId[]){own, NO_ID});
    d = own;
  }
  region->d_input = d;
}

static void derive_region(Grad *b, RegionId r) {
  Graph *g = b->graph;
  Region *region = &g->regions.at[r];
  b->region = region;
  b->list = &region->backward;
  region->d_output = region->d_input = NO_ID;
  if (region->output != NO_ID && r + 1 < g->regions.count) {
    region->d_output = g->regions.at[r + 1].d_input;
    grad_set(b, region->output, region->d_output);
  }
  Node n = {.op = OP_copy, .path = region->name, .clone_of = NO_ID};
  for (int32_t i = region->forward.count - 1; i >= 0; i--) {
    n = *graph_node(g, region->forward.at[i]); /* a copy: rules append nodes, the array may move */
    b->node = &n;
    if (wanted(b, &n)) op_def(n.op)->backward(b, &n);
  }
  b->node = NULL;
  finish_input(b, &n);
  if (region->backward.count == 0 && region->d_input == NO_ID) region->d_output = NO_ID;
}

static void check_params(const Graph *g) {
  for (ParamId p = 0; p < g->params.count; p++) {
    const Param *param = &g->params.at[p];
    if (param->grad == NO_ID)
      error_at(g->compile, param->origin, "unused-parameter",
               "parameter '%s' does not reach the loss: it would never train", param->name);
  }
}

bool grad_derive(Graph *g) {
  if (!prepare_check(g)) return false;
  prepare_drop_dead(g);
  prepare_overwritten(g);
  Grad b = {.graph = g};
  mark_needed(&b);
  for (RegionId r = g->regions.count - 1; r >= 0; r--)
    derive_region(&b, r);
  check_params(g);
  return !compile_failed(g->compile);
}
