#include "runtime/plan/plan_layout.h"

#include <stdio.h>
#include <string.h>

static const PlanCut *cut_along(const Plan *plan, const PlanLayoutDim *dim, uint32_t axis) {
  for (uint32_t i = 0; i < dim->cuts_count; i++)
    if (plan->cuts[dim->cuts_first + i].axis == axis) return &plan->cuts[dim->cuts_first + i];
  return NULL;
}

Along plan_layout_along(const Plan *plan, uint32_t layout, uint32_t axis, uint32_t *dim) {
  const PlanLayout *at = &plan->layouts[layout];
  if (at->owed_axes >> axis & 1u) return ALONG_OWED;
  if (at->flat_axes >> axis & 1u) return ALONG_FLAT;
  for (*dim = 0; *dim < at->dims_count; ++*dim)
    if (cut_along(plan, &plan->layout_dims[at->dims_first + *dim], axis)) return ALONG_CUT;
  return ALONG_WHOLE;
}

static bool same_along(const Plan *plan, uint32_t before, uint32_t after, uint32_t axis) {
  uint32_t x = 0, y = 0;
  Along a = plan_layout_along(plan, before, axis, &x);
  Along b = plan_layout_along(plan, after, axis, &y);
  if (a != b || a != ALONG_CUT) return a == b;
  const PlanLayout *p = &plan->layouts[before], *q = &plan->layouts[after];
  return x == y && cut_along(plan, &plan->layout_dims[p->dims_first + x], axis)->style ==
                       cut_along(plan, &plan->layout_dims[q->dims_first + y], axis)->style;
}

uint32_t plan_layout_changes(const Plan *plan, uint32_t before, uint32_t after) {
  uint32_t changes = 0;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    if (!same_along(plan, before, after, axis)) changes |= 1u << axis;
  return changes;
}

uint32_t plan_layout_axes(const Plan *plan, uint32_t layout) {
  uint32_t axes = 0, dim = 0;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    if (plan_layout_along(plan, layout, axis, &dim) != ALONG_WHOLE) axes |= 1u << axis;
  return axes;
}

static void add_text(char *text, const char *more) {
  size_t used = strlen(text);
  snprintf(text + used, PLAN_LAYOUT_BYTES - used, "%s", more);
}

static void add_axes(const Plan *plan, uint32_t axes, char *text) {
  const char *before = "@";
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    if ((axes >> axis & 1u) == 0 || plan->axes[axis].size == 1) continue;
    add_text(text, before);
    add_text(text, plan_string(plan, plan->axes[axis].name));
    before = ",";
  }
}

const char *plan_layout_text(const Plan *plan, uint32_t layout, uint32_t axes,
                             char text[PLAN_LAYOUT_BYTES]) {
  const PlanLayout *at = &plan->layouts[layout];
  uint32_t dim = 0, cut_axes = 0, cut_dim = 0;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    if ((axes >> axis & 1u) == 0 || plan_layout_along(plan, layout, axis, &dim) != ALONG_CUT ||
        (cut_axes != 0 && dim != cut_dim))
      continue;
    cut_axes |= 1u << axis;
    cut_dim = dim;
  }
  text[0] = '\0';
  if (at->owed_axes & axes) {
    add_text(text, at->owed == REDUCE_MAX ? "Partial(max)" : "Partial(sum)");
    add_axes(plan, at->owed_axes & axes, text);
  } else if (at->flat_axes & axes) {
    add_text(text, "Shard(flat)");
    add_axes(plan, at->flat_axes & axes, text);
  } else if (cut_axes != 0) {
    add_text(text, "Shard(");
    add_text(text, plan_string(plan, plan->layout_dims[at->dims_first + cut_dim].name));
    add_text(text, ")");
    add_axes(plan, cut_axes, text);
  } else {
    add_text(text, "Replicated");
    add_axes(plan, axes, text);
  }
  return text;
}

const char *plan_dims_text(const Plan *plan, uint32_t layout, char text[PLAN_LAYOUT_BYTES]) {
  const PlanLayout *at = &plan->layouts[layout];
  text[0] = '\0';
  add_text(text, "[");
  for (uint32_t i = 0; i < at->dims_count; i++) {
    const PlanLayoutDim *dim = &plan->layout_dims[at->dims_first + i];
    char size[24];
    snprintf(size, sizeof size, " %lld", (long long)dim->size);
    add_text(text, i > 0 ? ", " : "");
    add_text(text, plan_string(plan, dim->name));
    add_text(text, size);
  }
  add_text(text, "]");
  return text;
}
