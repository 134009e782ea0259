/* model.c -- what a plan computes: the model before anything was cut, and its layouts. */
#include <string.h>

#include "compiler/draft/emit/tables.h"
#include "runtime/plan/plan_hash.h"

/* ---- layouts: each is written once */

static bool same_dim(const Tables *t, const PlanLayoutDim *written, const LayoutDim *dim) {
  if (strcmp(t->strings.at + written->name, dim->name) != 0 || written->size != dim->size ||
      written->real_size != dim->real_size || written->cuts_count != (uint32_t)dim->cut_count)
    return false;
  for (int32_t i = 0; i < dim->cut_count; i++) {
    const PlanCut *cut = &t->cuts.at[written->cuts_first + (uint32_t)i];
    if (cut->axis != dim->cuts[i].axis || cut->style != dim->cuts[i].style) return false;
  }
  return true;
}

static bool same_layout(const Tables *t, const PlanLayout *written, const Layout *layout) {
  if (written->dims_count != (uint32_t)layout->dim_count ||
      written->flat_axes != layout->flat_axes || written->owed_axes != layout->owed_axes ||
      written->piece != layout->piece || written->owed != layout->owed)
    return false;
  for (int32_t i = 0; i < layout->dim_count; i++)
    if (!same_dim(t, &t->layout_dims.at[written->dims_first + (uint32_t)i], &layout->dims[i]))
      return false;
  return true;
}

static void push_dim(Tables *t, const LayoutDim *dim) {
  PlanLayoutDim out = {.size = dim->size,
                       .real_size = dim->real_size,
                       .name = table_string(t, dim->name),
                       .cuts_first = (uint32_t)t->cuts.count,
                       .cuts_count = (uint32_t)dim->cut_count};
  for (int32_t i = 0; i < dim->cut_count; i++)
    TABLE_PUSH(t, cuts, (PlanCut){dim->cuts[i].axis, dim->cuts[i].style});
  TABLE_PUSH(t, layout_dims, out);
}

uint32_t table_layout(Tables *t, const Layout *layout) {
  for (int32_t i = 0; i < t->layouts.count; i++)
    if (same_layout(t, &t->layouts.at[i], layout)) return (uint32_t)i;
  PlanLayout out = {.piece = layout->piece,
                    .flat_axes = layout->flat_axes,
                    .owed_axes = layout->owed_axes,
                    .owed = layout->owed,
                    .dims_first = (uint32_t)t->layout_dims.count,
                    .dims_count = (uint32_t)layout->dim_count};
  for (int32_t i = 0; i < layout->dim_count; i++)
    push_dim(t, &layout->dims[i]);
  TABLE_PUSH(t, layouts, out);
  return (uint32_t)t->layouts.count - 1;
}

/* ---- the model */

uint32_t table_value(const Tables *t, const Graph *model, ValueId v) {
  return v == NO_ID ? PLAN_NONE : (uint32_t)t->value_index[model->program][v];
}

uint32_t table_node(const Tables *t, const Graph *model, NodeId n) {
  return n == NO_ID ? PLAN_NONE : (uint32_t)t->node_index[model->program][n];
}

static void push_values(Tables *t, const Graph *model) {
  uint32_t first_region = (uint32_t)t->regions.count;
  int32_t *index = ARENA_ARRAY(t->arena, int32_t, model->values.count + 1);
  t->value_index[model->program] = index;
  for (ValueId v = 0, next = t->values.count; v < model->values.count; v++)
    index[v] = graph_value(model, v)->is_joined ? (int32_t)PLAN_NONE : next++;
  for (ValueId v = 0; v < model->values.count; v++) {
    const Value *value = graph_value(model, v);
    if (value->is_joined) continue;
    Layout layout = value_layout(model, v);
    const char *name = value->name;
    RegionId region = value->region;
    if (value->kind == VALUE_PARAM || value->kind == VALUE_PARAM_GRAD) {
      name = model->params.at[value->param].name;
      region = model->params.at[value->param].region;
    }
    TABLE_PUSH(t, values,
               (PlanValue){.kind = value->kind,
                           .dtype = value->dtype,
                           .layout = table_layout(t, &layout),
                           .view_of = table_value(t, model, value->view_of),
                           .region = region == NO_ID ? PLAN_NONE : first_region + (uint32_t)region,
                           .name = table_string(t, name)});
  }
}

static void push_uses(Tables *t, const Graph *model, const ValueId *values, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    TABLE_PUSH(t, uses, (PlanUse){table_value(t, model, values[i])});
}

static void push_node(Tables *t, const Graph *model, NodeId n) {
  const Node *node = graph_node(model, n);
  PlanNode out = {.key = node->path == NULL ? 0 : plan_key(node->path),
                  .op = table_string(t, op_def(node->op)->name),
                  .path = table_string(t, node->path),
                  .file = table_string(t, library_text(model->compile, node->origin.file)),
                  .line = (uint32_t)node->origin.line,
                  .column = (uint32_t)node->origin.column};
  out.inputs_first = (uint32_t)t->uses.count;
  out.inputs_count = (uint32_t)node->input_count;
  push_uses(t, model, node->inputs, node->input_count);
  out.outputs_first = (uint32_t)t->uses.count;
  out.outputs_count = (uint32_t)node->output_count;
  push_uses(t, model, node->outputs, node->output_count);
  out.attrs_first = (uint32_t)t->reals.count;
  out.attrs_count = NODE_ATTRS_MAX;
  while (out.attrs_count > 0 && node->attrs[out.attrs_count - 1] == 0)
    out.attrs_count--;
  for (uint32_t i = 0; i < out.attrs_count; i++)
    TABLE_PUSH(t, reals, node->attrs[i]);
  t->node_index[model->program][n] = t->nodes.count;
  TABLE_PUSH(t, nodes, out);
}

static void push_list(Tables *t, const Graph *model, const NodeList *list, uint32_t *first,
                      uint32_t *count) {
  *first = (uint32_t)t->nodes.count;
  *count = (uint32_t)list->count;
  for (int32_t i = 0; i < list->count; i++)
    push_node(t, model, list->at[i]);
}

static void push_region(Tables *t, const Graph *model, const Region *region) {
  PlanRegion out = {.repeat = region->repeat,
                    .is_stack = region->is_stack,
                    .program = model->program,
                    .input = table_value(t, model, region->input),
                    .output = table_value(t, model, region->output),
                    .d_input = table_value(t, model, region->d_input),
                    .d_output = table_value(t, model, region->d_output),
                    .name = table_string(t, region->name)};
  push_list(t, model, &region->forward, &out.forward_first, &out.forward_count);
  push_list(t, model, &region->backward, &out.backward_first, &out.backward_count);
  TABLE_PUSH(t, regions, out);
}

static void push_parameter(Tables *t, const Graph *model, const Param *param) {
  TABLE_PUSH(t, parameters,
             (PlanParameter){.key = plan_key(param->name),
                             .init_a = param->init_a,
                             .init_b = param->init == INIT_CONSTANT ? 0 : param->init_b,
                             .value = table_value(t, model, param->value),
                             .init = param->init,
                             .source = table_string(t, param->source ? param->source : ""),
                             .transposed = param->transposed,
                             .out_dims = (uint32_t)param->out_dims,
                             .decay = param->decay});
}

void emit_model(Tables *t, const Graph *model) {
  t->node_index[model->program] = ARENA_ARRAY(t->arena, int32_t, model->nodes.count + 1);
  for (NodeId n = 0; n < model->nodes.count; n++)
    t->node_index[model->program][n] = (int32_t)PLAN_NONE;
  const int32_t first_region = t->regions.count;
  push_values(t, model);
  for (RegionId r = 0; r < model->regions.count; r++)
    push_region(t, model, &model->regions.at[r]);
  for (ParamId p = 0; first_region == 0 && p < model->params.count; p++)
    push_parameter(t, model, &model->params.at[p]);
}
