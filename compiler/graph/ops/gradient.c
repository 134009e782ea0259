/* gradient.c -- the gradient under construction: which value has which gradient so far, and the
 * nodes that make it. */
#include "compiler/graph/ops/gradient.h"

#include <assert.h>

void grad_cover(Grad *b, ValueId v) {
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

ValueId grad_of(const Grad *b, ValueId v) {
  return v != NO_ID && v < b->value_capacity ? b->d_of[v] : NO_ID;
}

void grad_set(Grad *b, ValueId v, ValueId d_v) {
  grad_cover(b, v);
  b->d_of[v] = d_v;
}

ValueId grad_output(Grad *b, const Node *n, int32_t output) {
  return grad_of(b, n->outputs[output]);
}

ValueId grad_like(Grad *b, ValueId v) {
  Graph *g = b->graph;
  const Value *value = graph_value(g, v);
  const char *name = arena_printf(g->compile->arena, "d_%s", value->name ? value->name : "value");
  return graph_value_like(g, v, value->dtype, name);
}

void grad_add(Grad *b, ValueId v, ValueId d_v) {
  ValueId before = grad_of(b, v);
  if (before != NO_ID) {
    ValueId sum = grad_like(b, v);
    grad_append(b, b->node, OP_add, (const ValueId[]){before, d_v, NO_ID},
                (const ValueId[]){sum, NO_ID});
    d_v = sum;
  }
  grad_set(b, v, d_v);
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

/* True if the node makes gradients of parameters alone, of which none is added to by a later node:
 * the first contribution assigns, and must stay the first. */
static bool may_go_last(const Grad *b, int32_t at) {
  const Graph *g = b->graph;
  const Node *n = graph_node(g, b->list->at[at]);
  for (int32_t k = 0; k < n->output_count; k++) {
    if (graph_value(g, n->outputs[k])->kind != VALUE_PARAM_GRAD) return false;
    for (int32_t i = at + 1; i < b->list->count; i++) {
      const Node *later = graph_node(g, b->list->at[i]);
      for (int32_t j = 0; j < later->output_count; j++)
        if (later->outputs[j] == n->outputs[k]) return false;
    }
  }
  return true;
}

static bool reads(const Node *n, ValueId v) {
  for (int32_t k = 0; k < n->input_count; k++)
    if (n->inputs[k] == v) return true;
  return false;
}

void grad_again(Grad *b, ValueId v, ValueId again) {
  const int32_t count = b->list->count;
  for (int32_t i = 0; i < count; i++)
    if (reads(graph_node(b->graph, b->list->at[i]), v) && !may_go_last(b, i)) return;
  NodeList moved = {0};
  int32_t kept = 0;
  for (int32_t i = 0; i < count; i++) {
    const NodeId id = b->list->at[i];
    Node *n = graph_node(b->graph, id);
    if (!reads(n, v)) {
      b->list->at[kept++] = id;
      continue;
    }
    for (int32_t k = 0; k < n->input_count; k++)
      if (n->inputs[k] == v) n->inputs[k] = again;
    VEC_PUSH(b->graph->compile->arena, &moved, id);
  }
  for (int32_t i = 0; i < moved.count; i++)
    b->list->at[kept++] = moved.at[i];
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
