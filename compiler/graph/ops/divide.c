/* divide.c -- layouts along the axes of a pass, and the conversions between them. */
#include "compiler/graph/ops/divide.h"

ValueId map_get(const ValueMap *map, ValueId v) {
  const ValueId *at = map->at;
  return at != NULL && v < map->count && at[v] != NO_ID ? at[v] : v;
}

void map_set(Shard *s, ValueMap *map, ValueId v, ValueId other) {
  while (map->count <= v)
    VEC_PUSH(s->g->compile->arena, map, NO_ID);
  map->at[v] = other;
}

/* ---- layouts */

DimId part_of(const Shard *s, DimId dim) {
  return dim < s->dim_count ? s->part[dim] : NO_ID;
}

DimId base_of(const Shard *s, DimId part) {
  int32_t i = part - s->dim_count;
  return i >= 0 && i < s->base.count ? s->base.at[i] : NO_ID;
}

uint32_t axes_of(const Shard *s, DimId part) {
  uint32_t axes = 0;
  for (const Dim *dim = &s->g->dims.at[part]; dim->is_part; dim = &s->g->dims.at[dim->whole])
    axes |= MESH_BIT(dim->mesh) & s->axes;
  return axes;
}

DimId cut_of(const Shard *s, ValueId v) {
  const Value *value = graph_value(s->g, v);
  for (int32_t i = 0; i < value->dim_count; i++)
    if (base_of(s, value->dims[i]) != NO_ID) return value->dims[i];
  return NO_ID;
}

int32_t place_of_dim(const Shard *s, ValueId v, DimId dim) {
  const Value *value = graph_value(s->g, v);
  for (int32_t i = 0; i < value->dim_count; i++)
    if (value->dims[i] == dim) return i;
  return -1;
}

uint32_t partial_of(const Shard *s, ValueId v) {
  return graph_value(s->g, v)->partial & s->axes;
}

bool is_param(const Shard *s, ValueId v) {
  ValueKind kind = graph_value(s->g, v)->kind;
  return kind == VALUE_PARAM || kind == VALUE_PARAM_GRAD;
}

bool can_cut_seq(const Shard *s, ValueId v) {
  return (s->options.sequence || s->everywhere) && s->seq != NO_ID && part_of(s, s->seq) != NO_ID &&
         value_has_dim(s->g, v, s->seq) && cut_of(s, v) == NO_ID;
}

/* ---- nodes */

NodeId push_node(Shard *s, Node node) {
  Graph *g = s->g;
  op_dense_inputs(g, s->out, &node);
  NodeId id = g->nodes.count;
  VEC_PUSH(g->compile->arena, &g->nodes, node);
  VEC_PUSH(g->compile->arena, s->out, id);
  for (int32_t i = 0; i < node.output_count; i++) {
    graph_value(g, node.outputs[i])->producer = id;
    graph_value(g, node.outputs[i])->region = node.region;
  }
  return id;
}

void push_cut(Shard *s, NodeId id, Node *n) {
  op_dense_inputs(s->g, s->out, n);
  *graph_node(s->g, id) = *n;
  VEC_PUSH(s->g->compile->arena, s->out, id);
}

NodeId push_op(Shard *s, const Node *of, OpKind op, const ValueId *inputs, const ValueId *outputs) {
  Node node = {.op = op,
               .region = s->region,
               .path = of->path,
               .clone_of = NO_ID,
               .logical = of->logical,
               .origin = of->origin};
  for (; inputs[node.input_count] != NO_ID; node.input_count++)
    node.inputs[node.input_count] = inputs[node.input_count];
  for (; outputs[node.output_count] != NO_ID; node.output_count++)
    node.outputs[node.output_count] = outputs[node.output_count];
  return push_node(s, node);
}

ValueId value_as(Shard *s, ValueId like, DType dtype) {
  Graph *g = s->g;
  ValueId v = graph_value_like(g, like, dtype, graph_value(g, like)->name);
  graph_value(g, v)->partial = graph_value(g, like)->partial;
  graph_value(g, v)->logical = graph_value(g, like)->logical;
  return v;
}

ValueId owned(Shard *s, ValueId v, const Node *reader) {
  if (graph_value(s->g, v)->view_of == NO_ID) return v;
  ValueId copy = value_as(s, v, graph_value(s->g, v)->dtype);
  push_op(s, reader, OP_copy, (const ValueId[]){v, NO_ID}, (const ValueId[]){copy, NO_ID});
  return copy;
}

/* ---- conversions */

static ValueId made_before(const Shard *s, ValueId v, OpKind op, DimId dim) {
  for (int32_t i = 0; i < s->made.count; i++) {
    const Conversion *c = &s->made.at[i];
    if (c->from == v && c->op == op && c->dim == dim) return c->result;
  }
  return NO_ID;
}

ValueId latest(const Shard *s, ValueId v) {
  v = map_get(&s->instead, v);
  for (ValueId sum = v; sum != NO_ID; sum = made_before(s, v, OP_all_reduce, NO_ID))
    v = sum;
  return v;
}

ValueId convert(Shard *s, ValueId v, OpKind op, uint32_t axes, DimId dim, const Node *reader) {
  ValueId before = made_before(s, v, op, dim);
  if (before != NO_ID) return before;
  Graph *g = s->g;
  ValueId from = op_dense(g, s->out, reader, v);
  Value value = *graph_value(g, from);
  DimId base = dim == NO_ID ? NO_ID : base_of(s, dim);
  bool makes_whole = (op_def(op)->layout & LAYOUT_MAKES_WHOLE) != 0;
  int32_t at = dim == NO_ID ? -1 : place_of_dim(s, from, makes_whole ? dim : base);
  value.partial = graph_value(g, v)->partial & ~axes;
  value.view_of = op_def(op)->overwrites & 1 ? from : NO_ID;
  value.view_offset = 0;
  value.kind = VALUE_ACTIVATION;
  if (at >= 0) value.dims[at] = makes_whole ? base : dim;
  ValueId result = graph_add_value(g, value);
  /* A part over no axes is the whole, as for the one key head that ranks share. */
  Node node = {.op = axes != 0 ? (int32_t)op : OP_copy,
               .input_count = 1,
               .output_count = 1,
               .inputs = {from},
               .outputs = {result},
               .attrs = {at},
               .axes = axes,
               .region = s->region,
               .path = value.name != NULL ? value.name : reader->path,
               .clone_of = NO_ID,
               .logical = reader->logical,
               .origin = reader->origin};
  push_node(s, node);
  VEC_PUSH(g->compile->arena, &s->made, (Conversion){v, result, op, dim});
  return result;
}

ValueId settle(Shard *s, ValueId v, uint32_t keep, bool may_cut, const Node *reader) {
  uint32_t axes = partial_of(s, v) & ~keep;
  if (axes == 0) return v;
  DimId part = s->seq != NO_ID ? part_of(s, s->seq) : NO_ID;
  if (may_cut && can_cut_seq(s, v) && axes == axes_of(s, part))
    return convert(s, v, OP_reduce_scatter, axes, part, reader);
  return convert(s, v, OP_all_reduce, axes, NO_ID, reader);
}

ValueId as_carried(Shard *s, ValueId v, const Node *reader) {
  v = settle(s, v, 0, true, reader);
  DimId cut = cut_of(s, v);
  if (cut != NO_ID && base_of(s, cut) == s->seq) return v;
  if (cut != NO_ID) v = convert(s, v, OP_all_gather, axes_of(s, cut), cut, reader);
  DimId part = s->seq != NO_ID ? part_of(s, s->seq) : NO_ID;
  return can_cut_seq(s, v) ? convert(s, v, OP_slice, axes_of(s, part), part, reader) : v;
}
