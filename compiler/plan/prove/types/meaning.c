#include "compiler/plan/prove/types/meaning.h"

#include <string.h>

const PlanLayoutDim *meaning_dims(const Meaning *meaning, uint32_t value, uint32_t *count) {
  const PlanLayout *layout = &meaning->plan->layouts[meaning->plan->values[value].layout];
  *count = layout->dims_count;
  return meaning->plan->layout_dims + layout->dims_first;
}

/* The parts of a split are its results, those of a join its operands. */
static void find_slices(Meaning *meaning, const PlanNode *node) {
  const Plan *plan = meaning->plan;
  bool splits = is_op(plan, node, "split"), joins = is_op(plan, node, "join");
  if ((!splits && !joins) || node->attrs_count != 1) return;
  uint32_t first = splits ? node->outputs_first : node->inputs_first;
  uint32_t count = splits ? node->outputs_count : node->inputs_count;
  uint32_t parent = plan->uses[splits ? node->inputs_first : node->outputs_first].value;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t value = plan->uses[first + i].value, dims = 0, parent_dims = 0;
    (void)meaning_dims(meaning, value, &dims);
    (void)meaning_dims(meaning, parent, &parent_dims);
    if (plan->values[value].view_of != parent) continue;
    meaning->value[value].slice = (Slice){
        parent, i, count, (uint32_t)plan->reals[node->attrs_first], dims + 1 == parent_dims};
  }
}

static uint64_t next_use(ValueMeaning *value) {
  uint32_t order = value->uses++;
  return order < PARAMETER_USES_MAX ? 1ull << order : 0;
}

static void find_nodes(Meaning *meaning, uint32_t region, uint32_t first, uint32_t count) {
  const Plan *plan = meaning->plan;
  for (uint32_t n = first; n < first + count; n++) {
    const PlanNode *node = &plan->nodes[n];
    meaning->region_of[n] = region;
    find_slices(meaning, node);
    for (uint32_t i = node->outputs_first; i < node->outputs_first + node->outputs_count; i++)
      meaning->making[i].bit = next_use(&meaning->value[plan->uses[i].value]);
  }
}

/* Regions come one after another, so that later bits are still of this region. */
static void find_later(Meaning *meaning, uint32_t first, uint32_t count) {
  for (uint32_t n = first; n < first + count; n++) {
    const PlanNode *node = &meaning->plan->nodes[n];
    for (uint32_t i = node->outputs_first; i < node->outputs_first + node->outputs_count; i++) {
      Making *making = &meaning->making[i];
      uint64_t upto = making->bit == 0 ? UINT64_MAX : 2 * making->bit - 1;
      making->later = all_uses(meaning, meaning->plan->uses[i].value) & ~upto;
    }
  }
}

/* A value carried from region to region goes by the name of the first such value with its dims. */
static uint32_t first_carried(const Plan *plan, uint32_t value, bool is_gradient) {
  for (uint32_t i = 0; i < plan->regions_count; i++) {
    const PlanRegion *region = &plan->regions[i];
    const uint32_t ends[] = {is_gradient ? region->d_output : region->output,
                             is_gradient ? region->d_input : region->input};
    for (uint32_t k = 0; k < 2; k++)
      if (ends[k] != PLAN_NONE && plan->values[ends[k]].layout == plan->values[value].layout)
        return ends[k];
  }
  return value;
}

static void find_carried(Meaning *meaning, const PlanRegion *region) {
  const uint32_t value[] = {region->input, region->output, region->d_input, region->d_output};
  for (uint32_t i = 0; i < 4; i++)
    if (value[i] != PLAN_NONE)
      meaning->value[value[i]].same = first_carried(meaning->plan, value[i], i >= 2);
}

/* The first value of this name; of inputs with these dims, because a decode loads fewer tokens. */
static uint32_t first_named(const View *view, uint32_t value, ValueKind kind) {
  const Plan *plan = view->plan;
  const uint32_t first = value_named(view, value, kind);
  if (kind != VALUE_INPUT ||
      layouts_alike(plan, plan->values[first].layout, plan->values[value].layout))
    return first;
  for (uint32_t v = first; v < value; v++)
    if (plan->values[v].kind == VALUE_INPUT && value_named(view, v, kind) == first &&
        layouts_alike(plan, plan->values[v].layout, plan->values[value].layout))
      return v;
  return value;
}

/* Names identify values that several programs share, and connect a gradient to its parameter. */
static ValueMeaning named(const View *view, uint32_t value) {
  const ValueKind kind = (ValueKind)view->plan->values[value].kind;
  bool is_shared = kind == VALUE_PARAM || kind == VALUE_INPUT || kind == VALUE_CACHE;
  return (ValueMeaning){
      .slice.parent = PLAN_NONE,
      .same = is_shared ? first_named(view, value, kind) : value,
      .parameter = kind == VALUE_PARAM_GRAD ? value_named(view, value, VALUE_PARAM) : PLAN_NONE};
}

Meaning meaning_open(const View *view) {
  const Plan *plan = view->plan;
  Meaning meaning = {.plan = plan,
                     .value = ARENA_ARRAY(view->arena, ValueMeaning, plan->values_count),
                     .depth = ARENA_ARRAY(view->arena, uint32_t, plan->regions_count),
                     .region_of = ARENA_ARRAY(view->arena, uint32_t, plan->nodes_count),
                     .making = ARENA_ARRAY(view->arena, Making, plan->uses_count)};
  for (uint32_t i = 0; i < plan->values_count; i++)
    meaning.value[i] = named(view, i);
  uint32_t depth[ProgramKind_COUNT] = {0};
  for (uint32_t i = 0; i < plan->regions_count; i++) {
    const PlanRegion *region = &plan->regions[i];
    meaning.depth[i] = depth[region->program];
    depth[region->program] += (uint32_t)region->repeat;
    find_carried(&meaning, region);
    find_nodes(&meaning, i, region->forward_first, region->forward_count);
    find_nodes(&meaning, i, region->backward_first, region->backward_count);
    find_later(&meaning, region->forward_first, region->forward_count);
    find_later(&meaning, region->backward_first, region->backward_count);
  }
  return meaning;
}

uint32_t meaning_carried(const Meaning *meaning, ProgramKind program, uint32_t depth,
                         bool is_gradient) {
  for (uint32_t i = 0; i < meaning->plan->regions_count; i++) {
    const PlanRegion *region = &meaning->plan->regions[i];
    if (region->program != (uint32_t)program || depth <= meaning->depth[i] ||
        depth > meaning->depth[i] + region->repeat)
      continue;
    uint32_t value = is_gradient ? region->d_output : region->output;
    return value == PLAN_NONE ? PLAN_NONE : meaning->value[value].same;
  }
  return PLAN_NONE;
}

void meaning_name(const Meaning *meaning, uint32_t region, uint32_t value, Type *type) {
  const PlanRegion *at = &meaning->plan->regions[region];
  const PlanValue *named = &meaning->plan->values[value];
  type->kind = named->kind == VALUE_PARAM || named->kind == VALUE_CACHE       ? TYPE_STATE
               : named->kind == VALUE_PARAM_GRAD || named->kind == VALUE_LOSS ? TYPE_SUM
                                                                              : TYPE_VALUE;
  type->state = named->kind == VALUE_PARAM   ? BUFFER_PARAM
                : named->kind == VALUE_CACHE ? BUFFER_CACHE
                                             : 0;
  type->ref = meaning->value[value].same;
  bool layered = named->region != PLAN_NONE && meaning->plan->regions[named->region].is_stack;
  type->layer = layered ? 0 : TYPE_ANY;
  bool is_behind = value == at->output || value == at->d_output;
  if (is_behind || value == at->input || value == at->d_input)
    type->layer = (int32_t)meaning->depth[region] + is_behind;
}

static bool cuts(const Plan *plan, const Place *places, uint32_t axis) {
  return axis < TYPE_AXES_MAX && places[axis].kind == PLACE_CUT &&
         plan->axes[axis].divides != DIVIDES_SAMPLES;
}

int64_t meaning_sizes(const Meaning *meaning, uint32_t value, const Place *places, uint32_t first,
                      uint32_t end) {
  const Plan *plan = meaning->plan;
  uint32_t count = 0;
  const PlanLayoutDim *dims = meaning_dims(meaning, value, &count);
  int64_t sizes = 1;
  for (uint32_t i = first; i < end && i < count; i++)
    sizes *= dims[i].size;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    if (cuts(plan, places, axis) && places[axis].dim >= first && places[axis].dim < end)
      sizes /= plan->axes[axis].size;
  return sizes;
}

/* Statistics have the dims of their rows. */
int64_t meaning_elements(const Meaning *meaning, uint32_t value, const Place *places) {
  return meaning_sizes(meaning, value, places, 0, UINT32_MAX);
}

Making making_of(const Meaning *meaning, uint32_t value, uint32_t node) {
  const PlanNode *at = &meaning->plan->nodes[node];
  for (uint32_t i = at->outputs_first; i < at->outputs_first + at->outputs_count; i++)
    if (meaning->plan->uses[i].value == value) return meaning->making[i];
  return (Making){0};
}

uint64_t all_uses(const Meaning *meaning, uint32_t value) {
  uint32_t count = meaning->value[value].uses;
  return count >= PARAMETER_USES_MAX ? UINT64_MAX : (1ull << count) - 1;
}
