#include "compiler/shard/shard.h"

#include <assert.h>
#include <string.h>

#include "compiler/ops/op.h"

typedef struct Conversion {
  ValueId from, result;
  OpKind op;
  DimId dim;
} Conversion;

typedef struct Shard {
  Graph *g;
  MeshAxis axis;
  int64_t size; /* of the axis */
  ShardOptions options;
  DimId *part;       /* by whole dim: a rank's part, or NO_ID */
  int32_t dim_count; /* whole dims */
  DimId seq;
  Region *region;
  NodeList *out;
  VEC(Conversion) made; /* in this region: shared by all readers */
  VEC(ValueId) instead; /* by value: read this one, or NO_ID */
} Shard;

static uint32_t bit(const Shard *s) {
  return 1u << s->axis;
}

static DimId part_of(const Shard *s, DimId whole) {
  return whole < s->dim_count ? s->part[whole] : NO_ID;
}

/* The part along this axis among a value's dims, or NO_ID. */
static DimId cut_of(const Shard *s, ValueId v) {
  const Value *value = graph_value(s->g, v);
  for (int32_t i = 0; i < value->dim_count; i++) {
    const Dim *dim = &s->g->dims.at[value->dims[i]];
    if (dim->is_part && dim->mesh == s->axis) return value->dims[i];
  }
  return NO_ID;
}

static int32_t position_of(const Shard *s, ValueId v, DimId dim) {
  const Value *value = graph_value(s->g, v);
  for (int32_t i = 0; i < value->dim_count; i++)
    if (value->dims[i] == dim) return i;
  return -1;
}

static bool is_partial(const Shard *s, ValueId v) {
  return (graph_value(s->g, v)->partial & bit(s)) != 0;
}
static bool is_param(const Shard *s, ValueId v) {
  ValueKind kind = graph_value(s->g, v)->kind;
  return kind == VALUE_PARAM || kind == VALUE_PARAM_GRAD;
}

static ValueId instead_of(const Shard *s, ValueId v) {
  const ValueId *at = s->instead.at;
  return at && v < s->instead.count && at[v] != NO_ID ? at[v] : v;
}

static void read_instead(Shard *s, ValueId v, ValueId other) {
  while (s->instead.count <= v)
    VEC_PUSH(s->g->compile->arena, &s->instead, NO_ID);
  s->instead.at[v] = other;
}

static NodeId push_node(Shard *s, Node node) {
  Graph *g = s->g;
  NodeId id = g->nodes.count;
  VEC_PUSH(g->compile->arena, &g->nodes, node);
  VEC_PUSH(g->compile->arena, s->out, id);
  for (int32_t i = 0; i < node.output_count; i++) {
    graph_value(g, node.outputs[i])->producer = id;
    graph_value(g, node.outputs[i])->region = node.region;
  }
  return id;
}

/* ---- conversions */

/* `dim`: the part that goes or comes; NO_ID for an all-reduce. One conversion serves all readers.
 */
static ValueId convert(Shard *s, ValueId v, OpKind op, DimId dim, const Node *reader) {
  for (int32_t i = 0; i < s->made.count; i++) {
    const Conversion *c = &s->made.at[i];
    if (c->from == v && c->op == op && c->dim == dim) return c->result;
  }
  Graph *g = s->g;
  Value value = *graph_value(g, v);
  DimId whole = dim == NO_ID ? NO_ID : g->dims.at[dim].whole;
  int32_t at = dim == NO_ID ? -1 : position_of(s, v, op == OP_all_gather ? dim : whole);
  value.partial &= ~bit(s);
  value.view_of = op == OP_all_reduce ? v : NO_ID;
  value.view_offset = 0;
  value.kind = VALUE_ACTIVATION;
  if (at >= 0) value.dims[at] = op == OP_all_gather ? whole : dim;
  ValueId result = graph_add_value(g, value);
  Node node = {.op = op,
               .input_count = 1,
               .output_count = 1,
               .inputs = {v},
               .outputs = {result},
               .attrs = {s->axis, at},
               .region = (RegionId)(s->region - g->regions.at),
               .path = value.name != NULL ? value.name : reader->path,
               .clone_of = NO_ID,
               .origin = reader->origin};
  push_node(s, node);
  VEC_PUSH(g->compile->arena, &s->made, (Conversion){v, result, op, dim});
  return result;
}

static bool can_cut_seq(const Shard *s, ValueId v) {
  return s->options.sequence && s->seq != NO_ID && part_of(s, s->seq) != NO_ID &&
         value_has_dim(s->g, v, s->seq) && cut_of(s, v) == NO_ID;
}

/* Partial becomes what the carried value is: cut along seq where sequence parallel allows, else
 * whole. */
static ValueId settle(Shard *s, ValueId v, bool may_cut, const Node *reader) {
  if (is_partial(s, v)) {
    if (may_cut && can_cut_seq(s, v))
      return convert(s, v, OP_reduce_scatter, part_of(s, s->seq), reader);
    return convert(s, v, OP_all_reduce, NO_ID, reader);
  }
  return v;
}

static ValueId as_carried(Shard *s, ValueId v, const Node *reader) {
  v = settle(s, v, true, reader);
  DimId cut = cut_of(s, v);
  if (cut != NO_ID && s->g->dims.at[cut].whole == s->seq) return v;
  if (cut != NO_ID) v = convert(s, v, OP_all_gather, cut, reader);
  return can_cut_seq(s, v) ? convert(s, v, OP_slice, part_of(s, s->seq), reader) : v;
}

/* ---- what a node asks of its inputs */

static bool has_layout(const Node *n, uint32_t layout) {
  return (op_def(n->op)->layout & layout) != 0;
}

/* Linear in all inputs, and all are summands: their sum may wait. */
static bool passes_partial(const Shard *s, const Node *n) {
  bool all = has_layout(n, LAYOUT_LINEAR);
  for (int32_t i = 0; i < n->input_count; i++)
    all &= is_partial(s, n->inputs[i]);
  return all;
}

/* The name along which this node works on parts: a parameter's first, then a feature's, then seq.
 */
static DimId choose_cut(const Shard *s, const Node *n) {
  DimId feature = NO_ID, carried = NO_ID;
  for (int32_t i = 0; i < n->input_count + n->output_count; i++) {
    bool input = i < n->input_count;
    ValueId v = input ? n->inputs[i] : n->outputs[i - n->input_count];
    DimId cut = input || is_param(s, v) ? cut_of(s, v) : NO_ID;
    if (cut == NO_ID) continue;
    if (is_param(s, v)) return cut;
    if (s->g->dims.at[cut].carried)
      carried = cut;
    else if (feature == NO_ID)
      feature = cut;
  }
  if (has_layout(n, LAYOUT_WHOLE_FEATURES)) return carried;
  return feature != NO_ID ? feature : carried;
}

static void settle_inputs(Shard *s, Node *n) {
  DimId cut = choose_cut(s, n);
  bool may_cut = cut == NO_ID || s->g->dims.at[cut].carried;
  if (passes_partial(s, n)) return;
  for (int32_t i = 0; i < n->input_count; i++)
    n->inputs[i] = settle(s, n->inputs[i], may_cut, n);
}

static void meet_cut(Shard *s, Node *n, DimId cut) {
  DimId whole = cut == NO_ID ? NO_ID : s->g->dims.at[cut].whole;
  for (int32_t i = 0; i < n->input_count; i++) {
    ValueId v = n->inputs[i];
    if (is_param(s, v)) continue;
    DimId has = cut_of(s, v);
    bool companion = has_layout(n, LAYOUT_HEADS) && has != NO_ID && !s->g->dims.at[has].carried;
    if (has != NO_ID && has != cut && !companion) v = convert(s, v, OP_all_gather, has, n);
    if (whole != NO_ID && !companion && position_of(s, v, whole) >= 0)
      v = convert(s, v, OP_slice, cut, n);
    n->inputs[i] = v;
  }
}

/* ---- what comes out */

static bool cut_among_inputs(const Shard *s, const Node *n, DimId part) {
  for (int32_t i = 0; i < n->input_count; i++)
    if (position_of(s, n->inputs[i], part) >= 0) return true;
  return false;
}

/* Dims that any input holds a part of are parts here too. True when an input's cut name is
 * contracted. */
static bool cut_output(Shard *s, const Node *n, ValueId v) {
  Value *value = graph_value(s->g, v);
  for (int32_t i = 0; i < value->dim_count && !is_param(s, v); i++) {
    DimId part = part_of(s, value->dims[i]);
    if (part != NO_ID && cut_among_inputs(s, n, part)) value->dims[i] = part;
  }
  if (has_layout(n, LAYOUT_HEADS)) return false;
  for (int32_t i = 0; i < n->input_count; i++) {
    DimId cut = cut_of(s, n->inputs[i]);
    if (cut != NO_ID && position_of(s, v, cut) < 0) return true;
  }
  return false;
}

static void add_partial(Shard *s, ValueId v) {
  Value *value = graph_value(s->g, v);
  value->partial |= bit(s);
  if (value->kind == VALUE_PARAM_GRAD) s->g->params.at[value->param].partial |= bit(s);
}

typedef struct Sizes {
  int64_t elements, features;
} Sizes;

static Sizes sizes_of(const Graph *g, ValueId v) {
  return (Sizes){value_elements(g, v), value_features(g, v)};
}

static void cut_outputs(Shard *s, const Node *n) {
  Graph *g = s->g;
  bool from_partial = false;
  for (int32_t i = 0; i < n->input_count; i++)
    from_partial |= is_partial(s, n->inputs[i]);
  double share = 1;
  for (int32_t i = 0; i < n->output_count; i++) {
    ValueId v = n->outputs[i];
    Value *value = graph_value(g, v);
    if (value->extra_elements > 0) { /* statistics follow the first output */
      value->extra_elements = (int64_t)((double)value->extra_elements * share + 0.5);
      continue;
    }
    Sizes before = sizes_of(g, v);
    bool contracted = cut_output(s, n, v);
    Sizes after = sizes_of(g, v);
    value = graph_value(g, v);
    value->view_offset = value->view_offset / (before.features / after.features);
    if (i == 0) share = (double)after.elements / (double)before.elements;
    if (contracted || from_partial) add_partial(s, v);
  }
}

/* A bias is added once, to the settled sum. */
static void add_bias_after(Shard *s, const Node *linear, ValueId bias) {
  Graph *g = s->g;
  ValueId y = linear->outputs[0], settled = as_carried(s, y, linear);
  ValueId sum =
      graph_value_like(g, settled, graph_value(g, settled)->dtype, graph_value(g, y)->name);
  Node add = *linear;
  add.op = OP_add;
  add.input_count = 2;
  add.inputs[0] = settled;
  add.inputs[1] = bias;
  add.output_count = 1;
  add.outputs[0] = sum;
  push_node(s, add);
  read_instead(s, y, sum);
}

/* Outputs that stood in an input (a loss overwrites its logits) stand in what replaced it. */
static void move_views(Shard *s, const Node *asked, const Node *n) {
  for (int32_t i = 0; i < n->output_count; i++) {
    Value *value = graph_value(s->g, n->outputs[i]);
    for (int32_t k = 0; k < n->input_count; k++)
      if (value->view_of == asked->inputs[k]) value->view_of = n->inputs[k];
  }
}

static void cut_node(Shard *s, NodeId id) {
  Graph *g = s->g;
  Node n = *graph_node(g, id);
  for (int32_t i = 0; i < n.input_count; i++)
    n.inputs[i] = instead_of(s, n.inputs[i]);
  Node asked = n;
  settle_inputs(s, &n);
  meet_cut(s, &n, choose_cut(s, &n));
  move_views(s, &asked, &n);
  cut_outputs(s, &n);
  ValueId bias = NO_ID;
  if (n.op == OP_linear && n.input_count > 2 && is_partial(s, n.outputs[0])) {
    bias = n.inputs[2];
    n.input_count = 2;
  }
  *graph_node(g, id) = n;
  VEC_PUSH(g->compile->arena, s->out, id);
  if (bias != NO_ID) add_bias_after(s, &n, bias);
}

static void cut_list(Shard *s, NodeList *list) {
  NodeList before = *list;
  *list = (NodeList){0};
  s->out = list;
  for (int32_t i = 0; i < before.count; i++)
    cut_node(s, before.at[i]);
}

/* ---- regions: what is carried between them is settled */

static const Node *last_node(const Shard *s, const NodeList *list) {
  assert(list->count > 0 && list->at != NULL);
  return graph_node(s->g, list->at[list->count - 1]);
}

static void cut_carried(Shard *s, ValueId v) {
  if (v == NO_ID || !can_cut_seq(s, v)) return;
  Value *value = graph_value(s->g, v);
  value->dims[position_of(s, v, s->seq)] = part_of(s, s->seq);
}

static void cut_forward(Shard *s) {
  for (RegionId r = 0; r < s->g->regions.count; r++) {
    s->region = &s->g->regions.at[r];
    s->made.count = 0;
    cut_carried(s, s->region->input);
    cut_list(s, &s->region->forward);
    if (s->region->output == NO_ID) continue;
    Node reader = *last_node(s, &s->region->forward);
    s->region->output = as_carried(s, instead_of(s, s->region->output), &reader);
  }
}

/* Backward may read what forward gathered: conversions made there are found again unless it shall
 * gather itself. */
static void find_forward_conversions(Shard *s) {
  s->made.count = 0;
  if (s->options.regather) return;
  for (int32_t i = 0; i < s->region->forward.count; i++) {
    const Node *n = graph_node(s->g, s->region->forward.at[i]);
    if (n->op == OP_all_gather)
      VEC_PUSH(s->g->compile->arena, &s->made,
               (Conversion){n->inputs[0], n->outputs[0], OP_all_gather, cut_of(s, n->inputs[0])});
  }
}

static void cut_backward(Shard *s) {
  for (RegionId r = s->g->regions.count - 1; r >= 0; r--) {
    s->region = &s->g->regions.at[r];
    find_forward_conversions(s);
    if (r + 1 < s->g->regions.count && s->region->d_output != NO_ID) {
      ValueId d = s->g->regions.at[r + 1].d_input;
      if (d != s->region->d_output) read_instead(s, s->region->d_output, d);
      s->region->d_output = d;
    }
    cut_list(s, &s->region->backward);
    if (s->region->d_input == NO_ID) continue;
    Node reader = *last_node(s, &s->region->backward);
    s->region->d_input = as_carried(s, instead_of(s, s->region->d_input), &reader);
  }
}

/* ---- dims and parameters */

static bool makes_part(Shard *s, DimId d) {
  Graph *g = s->g;
  Dim dim = g->dims.at[d];
  bool seq = d == s->seq && s->options.sequence;
  bool named = dim.axis != NULL && strcmp(dim.axis, "tp") == 0;
  if (!seq && !named) return true;
  if (dim.size % s->size != 0)
    return error_at(g->compile, (Span){0}, "degrees", "tp %lld does not divide %s = %lld",
                    (long long)s->size, dim.name, (long long)dim.size);
  dim.is_part = true;
  dim.whole = d;
  dim.mesh = s->axis;
  dim.size /= s->size;
  s->part[d] = graph_add_dim(g, dim);
  return true;
}

static bool make_parts(Shard *s) {
  bool good = true;
  s->dim_count = s->g->dims.count;
  s->part = ARENA_ARRAY(s->g->compile->arena, DimId, s->dim_count);
  for (DimId d = 0; d < s->dim_count; d++)
    s->part[d] = NO_ID;
  for (DimId d = 0; d < s->dim_count; d++)
    good &= makes_part(s, d);
  return good;
}

static void cut_params(Shard *s) {
  Graph *g = s->g;
  for (ParamId p = 0; p < g->params.count; p++) {
    Param *param = &g->params.at[p];
    for (int32_t i = 0; i < param->dim_count; i++) {
      DimId part = part_of(s, param->dims[i]);
      if (part == NO_ID || g->dims.at[part].carried) continue;
      param->dims[i] = part;
      param->elements /= s->size;
      break;
    }
    memcpy(graph_value(g, param->value)->dims, param->dims, sizeof param->dims);
    if (param->grad != NO_ID)
      memcpy(graph_value(g, param->grad)->dims, param->dims, sizeof param->dims);
  }
}

bool shard_apply(Graph *g, ShardOptions options) {
  if (g->mesh.size[MESH_TP] <= 1) return true;
  Shard s = {.g = g, .axis = MESH_TP, .size = g->mesh.size[MESH_TP], .options = options};
  s.seq = graph_dim(g, "seq");
  if (!make_parts(&s)) return false;
  cut_params(&s);
  cut_forward(&s);
  if (g->training) cut_backward(&s);
  return !compile_failed(g->compile);
}
