/* shard.c -- the passes: dims and parameters are cut, then the regions, forward and backward.
 * Carried values have no pending sums and own their storage. */
#include "compiler/graph/shard/shard.h"

#include <assert.h>
#include <string.h>

#include "compiler/graph/shard/pass.h"

/* ---- regions */

static Region *region_of(const Shard *s) {
  return &s->g->regions.at[s->region];
}

static Node last_node(const Shard *s, const NodeList *list) {
  assert(list->count > 0 && list->at != NULL);
  return *graph_node(s->g, list->at[list->count - 1]);
}

static void cut_carried(Shard *s, ValueId v) {
  if (v == NO_ID || !can_cut_seq(s, v)) return;
  Value *value = graph_value(s->g, v);
  value->dims[place_of_dim(s, v, s->seq)] = part_of(s, s->seq);
}

/* The value that a region passes on. */
static ValueId hand_on(Shard *s, ValueId v, const NodeList *list) {
  if (list->count == 0) return latest(s, v); /* passed through unchanged from the region before */
  Node reader = last_node(s, list);
  return owned(s, as_carried(s, latest(s, v), &reader), &reader);
}

static void cut_forward(Shard *s) {
  for (s->region = 0; s->region < s->g->regions.count; s->region++) {
    s->made.count = 0;
    cut_carried(s, region_of(s)->input);
    cut_list(s, &region_of(s)->forward);
    ValueId output = region_of(s)->output;
    if (output != NO_ID) region_of(s)->output = hand_on(s, output, &region_of(s)->forward);
  }
}

static bool makes_whole(const Node *n) {
  return (op_def(n->op)->layout & LAYOUT_MAKES_WHOLE) != 0;
}

/* True if backward reuses the result of this conversion where it needs the same one. A sum made in
 * place must not be made again; a gathered value is kept, unless the job asks to gather it again.
 */
static bool serves_backward(const Shard *s, const Node *n) {
  bool mine = (op_def(n->op)->layout & LAYOUT_CONVERTS) != 0 && (n->axes & s->axes) != 0 &&
              n->input_count == 1;
  return mine && !(makes_whole(n) && s->options.regather);
}

static void find_forward_conversions(Shard *s) {
  s->made.count = 0;
  const NodeList *forward = &region_of(s)->forward;
  for (int32_t i = 0; i < forward->count; i++) {
    const Node *n = graph_node(s->g, forward->at[i]);
    if (!serves_backward(s, n)) continue;
    bool has_dim = n->attrs[0] >= 0;
    DimId dim = has_dim ? cut_of(s, makes_whole(n) ? n->inputs[0] : n->outputs[0]) : NO_ID;
    VEC_PUSH(s->g->compile->arena, &s->made,
             (Conversion){n->inputs[0], n->outputs[0], (OpKind)n->op, dim});
  }
}

static void cut_backward(Shard *s) {
  s->is_backward = true;
  for (s->region = s->g->regions.count - 1; s->region >= 0; s->region--) {
    Region *region = region_of(s);
    find_forward_conversions(s);
    if (s->region + 1 < s->g->regions.count && region->d_output != NO_ID) {
      ValueId d = s->g->regions.at[s->region + 1].d_input;
      if (d != region->d_output) map_set(s, &s->instead, region->d_output, d);
      region->d_output = d;
    }
    cut_list(s, &region->backward);
    if (region->d_input != NO_ID) region->d_input = hand_on(s, region->d_input, &region->backward);
  }
}

/* ---- dims and parameters */

static DimId add_part(Shard *s, Dim dim, DimId whole, MeshAxis axis, DimId base) {
  Graph *g = s->g;
  if (g->mesh.size[axis] > 1) dim.size /= g->mesh.size[axis];
  dim.real_size = 0;
  dim.zigzag = false;
  dim.is_part = true;
  dim.whole = whole;
  dim.mesh = axis;
  VEC_PUSH(g->compile->arena, &s->base, base);
  return graph_add_dim(g, dim);
}

/* Cuts along each axis of the pass, outermost first; no value has the parts in between. */
static void cut_dim(Shard *s, DimId d, uint32_t axes) {
  DimId part = d;
  for (MeshAxis axis = MESH_CP; axis < MESH_AXES; axis++) {
    if ((axes & MESH_BIT(axis)) == 0) continue;
    if (part != d) s->base.at[part - s->dim_count] = NO_ID;
    part = add_part(s, s->g->dims.at[part], part, axis, d);
  }
  if (part != d) s->part[d] = part;
}

/* With Ulysses, heads are cut along cp after tp has cut them. */
static void cut_heads_part(Shard *s, DimId d) {
  Dim dim = s->g->dims.at[d];
  DimId of = s->part[dim.whole];
  if (of == NO_ID) return;
  s->part[d] = add_part(s, s->g->dims.at[of], of, dim.mesh, d);
}

static bool has_axis(const Dim *dim, const char *axis) {
  return dim->axis != NULL && strcmp(dim->axis, axis) == 0;
}

/* A part of kv_heads may be all of it, when ranks share the only one. Its weights still need whole
 * tokens, as those of q do. */
static void make_tensor_parts(Shard *s) {
  for (DimId d = 0; d < s->dim_count; d++) {
    Dim dim = s->g->dims.at[d];
    if (d == s->seq)
      cut_dim(s, d, s->options.sequence ? s->axes : 0);
    else if (has_axis(&dim, "tp") && dim.is_part)
      cut_heads_part(s, d);
    else if (has_axis(&dim, "tp"))
      cut_dim(s, d, is_kv_dim(s->g, d) ? MESH_BIT(MESH_TP) : s->axes);
  }
}

static bool is_heads_dim(const Graph *g, DimId d) {
  for (NodeId n = 0; n < g->nodes.count; n++) {
    const Node *node = graph_node(g, n);
    for (int32_t i = 0; (op_def(node->op)->layout & LAYOUT_HEADS) && i < 2; i++) {
      const Value *value = graph_value(g, node->inputs[i]);
      if (value->dims[value->dim_count - 2] == d) return true;
    }
  }
  return false;
}

static void make_token_parts(Shard *s) {
  bool ring = s->options.context == CONTEXT_RING;
  for (DimId d = 0; d < s->dim_count; d++) {
    if (d == s->seq || (!ring && is_heads_dim(s->g, d))) cut_dim(s, d, s->axes);
    if (d == s->seq) s->g->dims.at[s->part[d]].zigzag = ring;
  }
}

/* The inputs of an op that needs all features of a token stay whole. */
static bool is_read_whole(const Graph *g, ValueId param) {
  for (NodeId i = 0; i < g->nodes.count; i++) {
    const Node *n = graph_node(g, i);
    if ((op_def(n->op)->layout & LAYOUT_WHOLE_FEATURES) == 0) continue;
    for (int32_t k = 0; k < n->input_count; k++)
      if (n->inputs[k] == param) return true;
  }
  return false;
}

static void cut_params(Shard *s) {
  Graph *g = s->g;
  for (ParamId p = 0; p < g->params.count; p++) {
    Param *param = &g->params.at[p];
    if (is_read_whole(g, param->value)) continue;
    for (int32_t i = 0; i < param->dim_count; i++) {
      DimId part = part_of(s, param->dims[i]);
      if (part == NO_ID) continue;
      param->elements = param->elements / g->dims.at[param->dims[i]].size * g->dims.at[part].size;
      param->dims[i] = part;
      break;
    }
    memcpy(graph_value(g, param->value)->dims, param->dims, sizeof param->dims);
    if (param->grad != NO_ID)
      memcpy(graph_value(g, param->grad)->dims, param->dims, sizeof param->dims);
  }
}

/* ---- passes */

static Shard pass_of(Graph *g, ShardOptions options, uint32_t axes) {
  Shard s = {.g = g, .options = options, .dim_count = g->dims.count};
  for (MeshAxis axis = MESH_CP; axis < MESH_AXES; axis++)
    if (g->mesh.size[axis] > 1) s.axes |= MESH_BIT(axis) & axes;
  s.part = ARENA_ARRAY(g->compile->arena, DimId, s.dim_count);
  for (DimId d = 0; d < s.dim_count; d++)
    s.part[d] = NO_ID;
  s.seq = graph_dim(g, "seq");
  for (DimId d = 0; d < s.dim_count; d++) /* the part of seq that a rank has, if cp divides it */
    if (g->dims.at[d].is_part && g->dims.at[d].whole == s.seq) s.seq = d;
  return s;
}

static void cut_regions(Shard *s) {
  cut_forward(s);
  if (s->g->training && !compile_failed(s->g->compile)) cut_backward(s);
}

static void cut_tokens(Graph *g, ShardOptions options) {
  Shard s = pass_of(g, options, MESH_BIT(MESH_CP));
  s.everywhere = true;
  make_token_parts(&s);
  cut_regions(&s);
}

static void cut_tensors(Graph *g, ShardOptions options) {
  Shard s = pass_of(g, options, MESH_BIT(MESH_TP) | MESH_BIT(MESH_TP_GROUP));
  make_tensor_parts(&s);
  cut_params(&s);
  cut_regions(&s);
}

static int64_t tensor_ranks(const Graph *g) {
  int64_t tp = g->mesh.size[MESH_TP], group = g->mesh.size[MESH_TP_GROUP];
  return (tp > 1 ? tp : 1) * (group > 1 ? group : 1);
}

bool shard_apply(Graph *g, ShardOptions options) {
  bool tensors = tensor_ranks(g) > 1, tokens = g->mesh.size[MESH_CP] > 1;
  bool good = !tensors || check_tensor_degrees(g, &g->mesh);
  if (!check_token_degrees(g, options) || !good) return false;
  if (tokens) cut_tokens(g, options);
  if (tensors) cut_tensors(g, options);
  return !compile_failed(g->compile);
}
