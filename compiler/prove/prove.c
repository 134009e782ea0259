#include "compiler/prove/prove.h"

#include "compiler/prove/walk.h"
#include "runtime/plan/plan_io.h"

/* More coordinates than this and offsets that depend on them are refused rather than sampled. */
enum { VARIANTS_MAX = 64 };

/* Axes on which offsets of the class depend. */
static uint32_t used_axes(const Plan *plan, const PlanClass *class) {
  uint32_t used = 0;
  for (uint32_t p = 0; p < class->programs_count; p++) {
    const PlanProgram *program = &plan->programs[class->programs_first + p];
    for (uint32_t c = 0; c < program->calls_count; c++) {
      const PlanCall *call = &plan->calls[program->calls_first + c];
      for (uint32_t i = 0; i < call->bindings_count; i++) {
        uint32_t by = plan->bindings[call->bindings_first + i].by;
        if (by != PLAN_NONE) used |= plan->comms[by].axes_mask;
      }
    }
  }
  for (uint32_t i = 0; i < plan->operands_count; i++)
    if (plan->operands[i].by != PLAN_NONE)
      used |= plan->comms[plan->operands[i].by].axes_mask;
  return used;
}

/* The next combination of coordinates of the used axes; false after the last. */
static bool next_coordinates(View *view, uint32_t used) {
  const PlanBound *bounds = view->plan->bounds + view->class->bounds_first;
  for (uint32_t axis = view->plan->axes_count; axis-- > 0;) {
    if ((used >> axis & 1) == 0) continue;
    if (++view->coordinate[axis] < bounds[axis].end) return true;
    view->coordinate[axis] = bounds[axis].first;
  }
  return false;
}

static void prove_class(const Plan *plan, const PlanClass *class, ProveReport *report) {
  View view = {.plan = plan, .report = report, .class = class};
  uint32_t used = used_axes(plan, class);
  uint64_t variants = 1;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    const PlanBound *bound = &plan->bounds[class->bounds_first + axis];
    view.coordinate[axis] = bound->first;
    if (used >> axis & 1 && variants <= VARIANTS_MAX) variants *= bound->end - bound->first;
  }
  if (variants > VARIANTS_MAX) {
    prove_finding(&view, NULL, -1, "memory",
                  "offsets depend on more than %d coordinates: not provable yet", VARIANTS_MAX);
    return;
  }
  do {
    if (prove_memory(&view)) {
      prove_ordering(&view);
      prove_dataflow(&view);
      prove_values(&view);
      prove_step(&view);
    }
    view_close(&view);
  } while (next_coordinates(&view, used));
}

static void count_program(const View *view, uint32_t program) {
  ProveReport *report = view->report;
  Walk walk = walk_begin(view, &view->plan->programs[program]);
  while (walk_next(&walk)) {
    report->calls++;
    for (uint32_t i = 0; i < walk.segment->records_count; i++) {
      const PlanRecord *record = walk_record(&walk, i);
      if (!walk_runs(&walk, record)) continue;
      report->records++;
      report->accesses += record->operands_count;
      report->communications += record_is_communication(record);
    }
  }
}

static void count(const Plan *plan, ProveReport *report) {
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    View view = {.plan = plan, .report = report, .class = &plan->classes[c]};
    report->ranks += view.class->rank_count;
    for (uint32_t p = 0; p < view.class->programs_count; p++)
      count_program(&view, view.class->programs_first + p);
  }
  report->classes = plan->classes_count;
  for (uint32_t i = 0; i < plan->comms_count; i++) {
    bool is_new = true;
    for (uint32_t k = 0; k < i; k++)
      is_new = is_new && plan->comms[k].axes_mask != plan->comms[i].axes_mask;
    report->communicators += is_new;
  }
}

bool prove(const Plan *plan, ProveReport *report) {
  *report = (ProveReport){0};
  View whole = {.plan = plan, .report = report};
  char why[PLAN_WHY_BYTES];
  if (!plan_check(plan, why)) {
    prove_finding(&whole, NULL, -1, "structure", "%s", why);
    return false;
  }
  count(plan, report);
  prove_shapes(plan, report);
  prove_communication(plan, report);
  for (uint32_t c = 0; c < plan->classes_count; c++)
    prove_class(plan, &plan->classes[c], report);
  return report->finding_count == 0;
}
