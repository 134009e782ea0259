/* grad.c -- reverse mode: regions from the last to the first, nodes of each from the last to the
 * first. A value's gradient is complete when its producer is reached: all its readers come
 * later in forward. */
#include "compiler/grad/grad.h"

#include <assert.h>

#include "compiler/grad/prepare.h"

static void cover(Grad *b, ValueId v) {
  if (v < b->value_capacity) return;
  Arena *arena = b->graph->compile->arena;
  int32_t capacity = 2 * (v + 1);
  ValueId *d_of = ARENA_ARRAY(arena, ValueId, capacity);
  bool *needed = ARENA_ARRAY(arena, bool, capacity);
  for (int32_t i = 0; i < capacity; i++) {
    d_of[i] = i < b->value_capacity ? b->d_of[i] : NO_ID;
    needed[i] = grad_needed(b, i);
  }
  b->d_of = d_of;
  b->needed = needed;
  b->value_capacity = capacity;
}

bool grad_needed(const Grad *b, ValueId v) {
  return b->needed != NULL && v < b->value_capacity && b->needed[v];
}

static ValueId gradient_of(const Grad *b, ValueId v) {
  return v != NO_ID && v < b->value_capacity ? b->d_of[v] : NO_ID;
}

static void set_gradient(Grad *b, ValueId v, ValueId d_v) {
  cover(b, v);
  b->d_of[v] = d_v;
}

ValueId grad_output(Grad *b, const Node *n, int32_t output) {
  return gradient_of(b, n->outputs[output]);
}

ValueId grad_like(Grad *b, ValueId v) {
  Graph *g = b->graph;
  const Value *value = graph_value(g, v);
  const char *name = arena_printf(g->compile->arena, "d_%s", value->name ? value->name : "value");
  return graph_value_like(g, v, value->dtype, name);
}

void grad_add(Grad *b, ValueId v, ValueId d_v) {
  ValueId before = gradient_of(b, v);
  if (before != NO_ID) {
    ValueId sum = grad_like(b, v);
    grad_append(b, b->node, OP_add, (const ValueId[]){before, d_v, NO_ID},
                (const ValueId[]){sum, NO_ID});
    d_v = sum;
  }
  set_gradient(b, v, d_v);
}

ValueId grad_param(Grad *b, ValueId param_value, Accumulate *accumulate) {
  Graph *g = b->graph;
  Param *param = &g->params.at[graph_value(g, param_value)->param];
  *accumulate = param->grad == NO_ID ? ACCUMULATE_AFTER_FIRST : ACCUMULATE_ALWAYS;
  if (param->grad == NO_ID) {
    ValueId d = graph_value_dims(g, param->dims, param->dim_count, g->grad_dtype,
                                 arena_printf(g->compile->arena, "d_%s", param->name));
    Value *value = graph_value(g, d);
    value->kind = VALUE_PARAM_GRAD;
    value->param = graph_value(g, param_value)->param;
    value->region = param->region;
    param->grad = d;
  }
  return param->grad;
}

NodeId grad_append(Grad *b, const Node *of, OpKind op, const ValueId *inputs,
                   const ValueId *outputs) {
  Graph *g = b->graph;
  Node node = {.op = op,
               .region = (RegionId)(b->region - g->regions.at),
               .path = of->path,
               .clone_of = NO_ID,
               .origin = of->origin};
  for (int32_t i = 0; i < NODE_ATTRS_MAX; i++)
    node.attrs[i] = of->attrs[i];
  for (; inputs[node.input_count] != NO_ID; node.input_count++)
    node.inputs[node.input_count] = inputs[node.input_count];
  for (; outputs && outputs[node.output_count] != NO_ID; node.output_count++)
    node.outputs[node.output_count] = outputs[node.output_count];
  NodeId id = op_append(g, b->list, node);
  assert(id != NO_ID); /* shapes of gradients follow from shapes that were checked */
  return id;
}

static int32_t position_of(const ValueId *list, int32_t count, ValueId v) {
  for (int32_t i = 0; i < count; i++)
    if (list[i] == v) return i;
  return -1;
}

bool grad_place(Grad *b, ValueId d_v, ValueId d_x, int64_t offset) {
  Graph *g = b->graph;
  bool strided = false;
  if (graph_value(g, d_v)->view_of != NO_ID) return false;
  for (int32_t i = 0; i < b->list->count; i++) {
    const Node *n = graph_node(g, b->list->at[i]);
    int32_t output = position_of(n->outputs, n->output_count, d_v);
    if (output >= 0) strided = op_def(n->op)->writes_views >> output & 1;
    for (int32_t k = 0; k < n->input_count; k++)
      if (n->inputs[k] == d_v && !(op_def(n->op)->reads_views >> k & 1)) return false;
  }
  if (!strided) return false; /* or not made in this region */
  graph_value(g, d_v)->view_of = d_x;
  graph_value(g, d_v)->view_offset = offset;
  return true;
}

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
  cover(b, g->values.count);
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
    reached |= n->outputs[i] == b->graph->loss || gradient_of(b, n->outputs[i]) != NO_ID;
  for (int32_t i = 0; i < n->input_count; i++)
    needed |= grad_needed(b, n->inputs[i]);
  return reached && needed;
}

static bool made_in(const Graph *g, const NodeList *list, ValueId v) {
  for (int32_t i = 0; i < list->count; i++) {
    const Node *n = graph_node(g, list->at[i]);
    if (position_of(n->outputs, n->output_count, v) >= 0) return true;
  }
  return false;
}

/* The carried gradient is made here and owns its storage: the next layer down finds it there. */
static void finish_input(Grad *b, const Node *last) {
  Region *region = b->region;
  Graph *g = b->graph;
  if (region->input == NO_ID || !grad_needed(b, region->input)) return;
  ValueId d = gradient_of(b, region->input);
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
    set_gradient(b, region->output, region->d_output);
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
