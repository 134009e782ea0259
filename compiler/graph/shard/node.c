/* node.c -- the layouts that a node needs of its inputs, and those of its outputs. */
#include "compiler/graph/shard/pass.h"

static bool has_layout(const Node *n, uint32_t layout) {
  return (op_layout(n) & layout) != 0;
}

/* ---- inputs */

/* Backward works on the tokens and heads whose statistics forward has kept. NO_ID: n reads no
 * statistics.
 */
static ValueId output_with_statistics(const Shard *s, const Node *n) {
  for (int32_t i = 0; i < n->input_count; i++) {
    const Value *value = graph_value(s->g, n->inputs[i]);
    if (value->extra_elements > 0) return graph_node(s->g, value->producer)->outputs[0];
  }
  return NO_ID;
}

/* The output of the forward node whose gradient n makes, or NO_ID. */
static ValueId went_forward(const Shard *s, const Node *n) {
  const OpDef *of = op_def(n->op)->gradient_of;
  const NodeList *forward = &s->g->regions.at[s->region].forward;
  for (int32_t i = 0; s->is_backward && !s->everywhere && of != NULL && i < forward->count; i++) {
    const Node *then = graph_node(s->g, forward->at[i]);
    if (op_def(then->op) == of && then->path == n->path) return then->outputs[0];
  }
  return NO_ID;
}

/* True if n needs the dim of this part whole: one of its weight's, or any feature when it has no
 * weight. */
static bool needs_whole(const Shard *s, const Node *n, DimId part) {
  bool has_weight = false, in_weight = false;
  if (!has_layout(n, LAYOUT_WHOLE_FEATURES)) return false;
  for (int32_t i = 0; i < n->input_count; i++) {
    if (!is_param(s, n->inputs[i])) continue;
    has_weight = true;
    in_weight = in_weight || place_of_dim(s, n->inputs[i], base_of(s, part)) >= 0;
  }
  return in_weight || !has_weight;
}

/* The dim along which this node works on parts: one of a parameter if possible, else a feature,
 * else seq.
 */
static DimId choose_cut(const Shard *s, const Node *n) {
  DimId feature = NO_ID, carried = NO_ID;
  ValueId forward = output_with_statistics(s, n);
  if (forward != NO_ID) return cut_of(s, forward);
  for (int32_t i = 0; i < n->input_count + n->output_count; i++) {
    bool input = i < n->input_count;
    ValueId v = input ? n->inputs[i] : n->outputs[i - n->input_count];
    DimId cut = input || is_param(s, v) ? cut_of(s, v) : NO_ID;
    if (cut == NO_ID && input && s->everywhere && can_cut_seq(s, v)) cut = part_of(s, s->seq);
    if (cut == NO_ID) continue;
    if (is_param(s, v)) return cut;
    if (s->g->dims.at[cut].carried)
      carried = cut;
    else if (feature == NO_ID && !needs_whole(s, n, cut))
      feature = cut;
  }
  ValueId then = went_forward(s, n);
  if (then != NO_ID && (has_layout(n, LAYOUT_AS_FORWARD) || feature == NO_ID))
    return cut_of(s, then);
  if (has_layout(n, LAYOUT_WHOLE_TOKENS) && !s->everywhere) return feature;
  return feature != NO_ID ? feature : carried;
}

/* Axes along which sums can be deferred past this node: all inputs of a linear node, or one input
 * of a bilinear node, are Partial. Along cp only gradients are Partial, of values without seq, and
 * nodes with one gradient are linear in it. Axes of `cut` are excluded: parts of different partial
 * sums do not add up. */
static uint32_t waiting_sums(const Shard *s, const Node *n, DimId cut) {
  uint32_t all = s->axes, any = 0;
  int32_t count = 0;
  for (int32_t i = 0; i < n->input_count; i++) {
    uint32_t partial = partial_of(s, n->inputs[i]);
    all &= partial;
    any |= partial;
    count += partial != 0;
  }
  uint32_t waiting = has_layout(n, LAYOUT_LINEAR) && n->input_count > 0 ? all : 0;
  bool of_one = has_layout(n, LAYOUT_BILINEAR) || s->everywhere;
  if (of_one && !has_layout(n, LAYOUT_LINEAR) && count == 1) waiting = any;
  return cut == NO_ID ? waiting : waiting & ~axes_of(s, cut);
}

static void settle_inputs(Shard *s, Node *n) {
  DimId cut = choose_cut(s, n);
  bool may_cut = cut == NO_ID || s->g->dims.at[cut].carried;
  uint32_t keep = waiting_sums(s, n, cut);
  for (int32_t i = 0; i < n->input_count; i++)
    n->inputs[i] = settle(s, n->inputs[i], keep, may_cut, n);
}

/* The part of v that the node needs when it computes the part `cut`: heads and kv_heads are divided
 * together. Values sent to other ranks are always cut already. */
static DimId part_for(const Shard *s, const Node *n, ValueId v, DimId cut) {
  bool heads = cut != NO_ID && !s->g->dims.at[cut].carried && has_layout(n, LAYOUT_HEADS);
  if (!heads && !has_layout(n, LAYOUT_SAME_PLACES)) return cut;
  const Value *value = graph_value(s->g, v);
  for (int32_t i = 0; i < value->dim_count; i++) {
    DimId dim = value->dims[i], part = base_of(s, dim) != NO_ID ? dim : part_of(s, dim);
    if (part != NO_ID && !s->g->dims.at[part].carried) return part;
  }
  return cut;
}

static void meet_cut(Shard *s, Node *n, DimId cut) {
  for (int32_t i = 0; i < n->input_count; i++) {
    ValueId v = n->inputs[i];
    if (is_param(s, v)) continue;
    DimId has = cut_of(s, v), part = part_for(s, n, v, cut);
    if (has != NO_ID && has != part) v = convert(s, v, OP_all_gather, axes_of(s, has), has, n);
    if (part != NO_ID && place_of_dim(s, v, base_of(s, part)) >= 0)
      v = convert(s, v, OP_slice, axes_of(s, part), part, n);
    n->inputs[i] = v;
  }
}

/* ---- outputs */

static bool cut_among_inputs(const Shard *s, const Node *n, DimId part) {
  for (int32_t i = 0; i < n->input_count; i++)
    if (place_of_dim(s, n->inputs[i], part) >= 0) return true;
  return false;
}

/* True if dim i of an output, which has a part, is cut in the inputs of n. */
static bool comes_cut(const Shard *s, const Node *n, int32_t i, DimId part) {
  if (!has_layout(n, LAYOUT_SAME_PLACES))
    return cut_among_inputs(s, n, part) || (s->everywhere && base_of(s, part) == s->seq);
  return base_of(s, graph_value(s->g, n->inputs[0])->dims[i]) != NO_ID;
}

/* Dims that are cut in an input are cut in the outputs. Returns the axes along which the outputs
 * are Partial: those of a cut dim that is contracted. */
static uint32_t cut_output(Shard *s, const Node *n, ValueId v) {
  Value *value = graph_value(s->g, v);
  for (int32_t i = 0; i < value->dim_count && !is_param(s, v); i++) {
    DimId part = part_of(s, value->dims[i]);
    if (part != NO_ID && comes_cut(s, n, i, part)) value->dims[i] = part;
  }
  if (has_layout(n, LAYOUT_SAME_PLACES)) return 0;
  uint32_t contracted = 0, cut = 0;
  for (int32_t i = 0; i < value->dim_count; i++)
    if (base_of(s, value->dims[i]) != NO_ID) cut |= axes_of(s, value->dims[i]);
  for (int32_t i = 0; i < n->input_count; i++) {
    DimId part = cut_of(s, n->inputs[i]);
    if (part != NO_ID && place_of_dim(s, v, part) < 0) contracted |= axes_of(s, part);
  }
  return has_layout(n, LAYOUT_HEADS) ? contracted & ~cut : contracted;
}

/* All contributions to a gradient must be Partial along the same axes, which are summed at the end
 * of the step. */
static void add_param_partial(Shard *s, const Node *n, ValueId v, uint32_t partial) {
  Graph *g = s->g;
  Param *param = &g->params.at[graph_value(g, v)->param];
  bool first = n->accumulate != ACCUMULATE_ALWAYS;
  if (!first && (param->partial & s->axes) != partial)
    error_at(
        g->compile, n->origin, "degrees",
        "parameter '%s' is used in two ways that ranks share differently; its gradients cannot "
        "be summed",
        param->name);
  param->partial |= partial;
}

typedef struct ShardSizes {
  int64_t elements, features;
} ShardSizes;

static ShardSizes sizes_of(const Graph *g, ValueId v) {
  return (ShardSizes){value_elements(g, v), value_features(g, v)};
}

static void cut_outputs(Shard *s, const Node *n) {
  Graph *g = s->g;
  uint32_t from_partial = 0;
  for (int32_t i = 0; i < n->input_count; i++)
    from_partial |= partial_of(s, n->inputs[i]);
  ShardSizes first = {1, 1}, first_before = {1, 1};
  for (int32_t i = 0; i < n->output_count; i++) {
    ValueId v = n->outputs[i];
    Value *value = graph_value(g, v);
    if (value->extra_elements > 0) { /* statistics follow the first output */
      value->extra_elements = value->extra_elements * first.elements / first_before.elements;
      continue;
    }
    ShardSizes before = sizes_of(g, v);
    uint32_t partial = cut_output(s, n, v) | from_partial;
    ShardSizes after = sizes_of(g, v);
    value->view_offset = value->view_offset / (before.features / after.features);
    if (i == 0) first = after;
    if (i == 0) first_before = before;
    value->partial |= partial;
    if (value->kind == VALUE_PARAM_GRAD) add_param_partial(s, n, v, partial);
  }
}

/* An output that was a view of an input (a loss overwrites its logits) becomes a view of what
 * replaced the input. */
static void move_views(Shard *s, const Node *asked, const Node *n) {
  for (int32_t i = 0; i < n->output_count; i++) {
    Value *value = graph_value(s->g, n->outputs[i]);
    for (int32_t k = 0; k < n->input_count; k++)
      if (value->view_of == asked->inputs[k]) value->view_of = n->inputs[k];
  }
}

static void cut_node(Shard *s, NodeId id) {
  Node n = *graph_node(s->g, id), asked = n;
  for (int32_t i = 0; i < n.input_count; i++)
    n.inputs[i] = latest(s, n.inputs[i]);
  const OpDef *def = op_def(n.op);
  settle_inputs(s, &n);
  if (def->divide != NULL && def->divide(s, &n)) return;
  meet_cut(s, &n, choose_cut(s, &n));
  move_views(s, &asked, &n);
  cut_outputs(s, &n);
  if (def->append != NULL)
    def->append(s, id, &asked, &n);
  else
    push_cut(s, id, &n);
}

void cut_list(Shard *s, NodeList *list) {
  NodeList before = *list;
  *list = (NodeList){0};
  s->out = list;
  for (int32_t i = 0; i < before.count; i++)
    cut_node(s, before.at[i]);
}
