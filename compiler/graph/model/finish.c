/* finish.c -- checks of a traced model: everything reaches the loss, and the number of parameters
 * is the published one. */
#include <string.h>

#include "compiler/graph/model/huggingface.h"
#include "runtime/plan/limits.h"

static void name_regions(Graph *g) {
  int32_t between = 0;
  for (int32_t i = 1; i < g->regions.count; i++) {
    Region *region = &g->regions.at[i];
    if (region->is_stack) continue;
    bool last = i == g->regions.count - 1;
    if (!last) between++;
    const char *name = last           ? "end"
                       : between == 1 ? "between"
                                      : arena_printf(g->compile->arena, "between.%d", between);
    region->name = name;
    if (region->input != NO_ID)
      graph_value(g, region->input)->name = arena_printf(g->compile->arena, "%s.input", name);
  }
}

/* ---- what reaches the loss */

static void need(const Graph *g, bool *needed, ValueId v) {
  for (; v != NO_ID && !needed[v]; v = graph_value(g, v)->view_of)
    needed[v] = true;
}

static bool any_output_needed(const bool *needed, const Node *node) {
  for (int32_t i = 0; i < node->output_count; i++)
    if (needed[node->outputs[i]]) return true;
  return false;
}

/* Moves the nodes of a region whose results nothing reads into `dropped`, last first. */
static void prune(Graph *g, Region *region, bool *needed, NodeList *dropped) {
  NodeList kept = {0};
  for (int32_t i = region->forward.count - 1; i >= 0; i--) {
    NodeId id = region->forward.at[i];
    const Node *node = graph_node(g, id);
    if (!any_output_needed(needed, node)) {
      VEC_PUSH(g->compile->arena, dropped, id);
      continue;
    }
    for (int32_t k = 0; k < node->input_count; k++)
      need(g, needed, node->inputs[k]);
    VEC_PUSH(g->compile->arena, &kept, id);
  }
  for (int32_t i = 0; i < kept.count; i++)
    region->forward.at[i] = kept.at[kept.count - 1 - i];
  region->forward.count = kept.count;
}

static bool same_place(Span a, Span b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

/* One report for the weight and the bias of a call. Sampling and predictions leave out losses, and
 * nodes that only losses read. */
static bool check_parameters(const Trace *t, const bool *needed) {
  const Graph *g = t->g;
  const Param *last = NULL;
  if (t->losses_left_out > 0) return true;
  for (int32_t i = 0; i < g->params.count; i++) {
    const Param *param = &g->params.at[i];
    if (needed[param->value]) continue;
    if (last == NULL || !same_place(last->origin, param->origin))
      error_at(g->compile, param->origin, "unused-parameter",
               "parameter '%s' never reaches the loss: it would stay as it began", param->name);
    last = param;
  }
  return last == NULL;
}

/* Reads by nodes that were dropped do not count. */
static bool check_uses(const Graph *g) {
  bool fits = true;
  int32_t *uses = ARENA_ARRAY(g->compile->arena, int32_t, g->values.count + 1);
  for (int32_t r = 0; r < g->regions.count; r++)
    for (int32_t i = 0; i < g->regions.at[r].forward.count; i++) {
      const Node *node = graph_node(g, g->regions.at[r].forward.at[i]);
      for (int32_t k = 0; k < node->input_count; k++)
        uses[node->inputs[k]]++;
    }
  for (int32_t i = 0; i < g->params.count; i++) {
    const Param *param = &g->params.at[i];
    if (uses[param->value] <= PARAMETER_USES_MAX) continue;
    fits = error_at(g->compile, param->origin, "too-many-uses",
                    "parameter '%s' is used %d times, which is more than %d: give some uses a "
                    "weight of their own",
                    param->name, uses[param->value], PARAMETER_USES_MAX);
  }
  return fits;
}

/* Positions are made wherever they might be needed, so some may remain unused. */
static void tell_dropped(Trace *t, const bool *needed, const NodeList *dropped) {
  Graph *g = t->g;
  for (int32_t i = 0; i < dropped->count; i++) {
    const Node *node = graph_node(g, dropped->at[i]);
    if (!op_def(node->op)->is_position)
      lint_at(g->compile, node->origin, "unused-value",
              "%s: nothing uses this result; it is left out", op_def(node->op)->name);
  }
  for (int32_t i = 0; i < g->inputs.count; i++)
    if (!needed[g->inputs.at[i].value])
      lint_at(g->compile, t->input_places.at[i], "unused-value", "input '%s' is read and not used",
              g->inputs.at[i].name);
}

/* A prediction of an early loss ends with that loss's region: later regions have no node left, and
 * their values become values of this region. */
static void drop_regions(const Trace *t) {
  Graph *g = t->g;
  if (t->losses_left_out == 0) return;
  while (g->regions.count > 1 && g->regions.at[g->regions.count - 1].forward.count == 0)
    g->regions.at[--g->regions.count - 1].output = NO_ID;
  for (ValueId v = 0; v < g->values.count; v++)
    if (graph_value(g, v)->region >= g->regions.count)
      graph_value(g, v)->region = g->regions.count - 1;
}

static bool check_reach(Trace *t) {
  Graph *g = t->g;
  NodeList dropped = {0};
  bool *needed = ARENA_ARRAY(g->compile->arena, bool, g->values.count + 1);
  for (int32_t i = 0; i < g->losses_count; i++)
    needed[g->losses[i]] = true;
  if (g->params.count == 0)
    return error_at(g->compile, t->loss_at, "no-parameters",
                    "the model has no parameters: there is nothing to train");
  for (int32_t i = g->regions.count - 1; i >= 0; i--) {
    Region *region = &g->regions.at[i];
    prune(g, region, needed, &dropped);
    if (i > 0 && needed[region->input]) need(g, needed, g->regions.at[i - 1].output);
  }
  if (!check_parameters(t, needed) || !check_uses(g)) return false;
  t->needed = needed;
  drop_regions(t);
  for (int32_t i = 0; i < g->regions.count; i++) {
    const Region *region = &g->regions.at[i];
    if (region->is_stack && !needed[region->output])
      return error_at(g->compile, t->model->family_at, "unused-parameter",
                      "stack '%s' never reaches the loss", region->name);
  }
  if (g->training) tell_dropped(t, needed, &dropped); /* once, not again for the eval graph */
  return true;
}

/* ---- the published count */

static void note_regions(Trace *t) {
  Graph *g = t->g;
  Arena *arena = g->compile->arena;
  for (int32_t r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    int64_t elements = 0;
    for (int32_t i = 0; i < g->params.count; i++)
      if (g->params.at[i].region == r) elements += g->params.at[i].elements;
    if (elements == 0) continue;
    if (region->repeat > 1)
      note_at(g->compile, (Span){0}, "%s: %lld x %s", region->name, (long long)region->repeat,
              format_count(arena, elements));
    else
      note_at(g->compile, (Span){0}, "%s: %s", region->name, format_count(arena, elements));
  }
}

/* Layers times parameters may overflow although neither does. */
static bool check_count(Trace *t) {
  const Graph *g = t->g;
  double total = 0;
  for (int32_t i = 0; i < g->params.count; i++)
    total +=
        (double)g->params.at[i].elements * (double)g->regions.at[g->params.at[i].region].repeat;
  return total <= 0x1p53 || error_at(g->compile, t->model->family_at, "wrong-size",
                                     "the model would have %.3g parameters", total);
}

static bool check_published(Trace *t) {
  Model *model = t->model;
  int64_t traced = model_parameters(t->g);
  if (model->published == 0 || model->published == traced) return true;
  Compile *c = model->compile;
  Arena *arena = c->arena;
  Span at = model->published_at;
  if (at.line == 0) at = key_place(model, at.file, "params");
  int64_t more = traced - model->published;
  error_at(c, at, "published-parameters", "params says %s, the model has %s: %s %s",
           format_count(arena, model->published), format_count(arena, traced),
           format_count(arena, more < 0 ? -more : more), more < 0 ? "fewer" : "more");
  fix_last(c, "params = %lld", (long long)traced);
  note_regions(t);
  return false;
}

/* Takes out the parameters that no loss needs. */
static bool drop_parameters(Trace *t) {
  Graph *g = t->g;
  int32_t kept = 0;
  for (ParamId p = 0; p < g->params.count && t->losses_left_out > 0; p++) {
    const Param param = g->params.at[p];
    Value *value = graph_value(g, param.value);
    value->param = t->needed[param.value] ? kept : NO_ID;
    if (value->param == NO_ID) value->kind = VALUE_ACTIVATION;
    if (value->param == NO_ID) continue;
    g->params.at[kept++] = param;
  }
  if (t->losses_left_out > 0) g->params.count = kept;
  return true;
}

bool trace_finish(Trace *t) {
  Graph *g = t->g;
  name_regions(g);
  for (int32_t i = 0; i < g->params.count; i++) {
    Param *param = &g->params.at[i];
    if (param->region != NO_ID) continue; /* a weight that was never used: reported below */
    param->region = t->declared.at[i];
    graph_value(g, param->value)->region = param->region;
  }
  return check_reach(t) && trace_check_ids(t) && check_count(t) && check_published(t) &&
         sources_find(t) && drop_parameters(t);
}
