#include "compiler/prove/prove.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/prove/events.h"
#include "compiler/prove/walk.h"
#include "runtime/plan/plan_io.h"

/* What a row of places reaches at its ends, it reaches in between: members.c. */
static void compare_ledgers(const View *first, const View *other) {
  for (uint32_t i = 0; i < first->class->programs_count; i++) {
    const PlanProgram *program = &first->plan->programs[first->class->programs_first + i];
    Walk walk = walk_begin(other, program), same = walk_begin(first, program);
    while (walk_next(&walk) && walk_next(&same))
      for (uint32_t base = 0; base < walk.segment->bases_count; base++)
        if (walk_buffer(&walk, base) != walk_buffer(&same, base))
          prove_finding(other, &walk, -1, "memory",
                        "base %u lies in one buffer on one rank and in another on another", base);
  }
}

/* All properties of one rank; those that do not depend on which, of the first only. */
static void prove_member(View *view, const View *first, Classes *classes) {
  if (!prove_memory(view)) return;
  if (first != NULL) compare_ledgers(first, view);
  prove_ordering(view);
  prove_dataflow(view);
  prove_values(view);
  if (first != NULL) return;
  prove_twins(view);
  prove_step(view, classes);
}

static void prove_class(const Plan *plan, const PlanClass *class, ProveReport *report,
                        Classes *classes) {
  View first = {.plan = plan, .report = report, .class = class};
  Members members = members_of(&first);
  uint32_t findings = report->finding_count;
  /* What is wrong on the first rank is not told again of others. */
  for (uint32_t i = 0; i < members.count && report->finding_count == findings; i++) {
    View other = {.plan = plan, .report = report, .class = class};
    View *view = i == 0 ? &first : &other;
    memcpy(view->coordinate, members.coordinates[i], sizeof view->coordinate);
    prove_member(view, i == 0 ? NULL : &first, classes);
    view_close(&other);
  }
  view_close(&first);
  free(members.coordinates);
}

/* One pass over all classes; from the last to the first when `back`. */
static bool follow_replicas(const Plan *plan, ProveReport *report, Links *links, bool back,
                            bool judge) {
  bool changed = false;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    View view = {.plan = plan, .report = report};
    view.class = &plan->classes[back ? plan->classes_count - 1 - i : i];
    for (uint32_t axis = 0; axis < plan->axes_count; axis++)
      view.coordinate[axis] = plan->bounds[view.class->bounds_first + axis].first;
    if (prove_memory(&view)) changed = prove_replicas(&view, links, judge) || changed;
    view_close(&view);
  }
  return changed;
}

/* Values go down the stages of a pipeline and gradients up, so that two passes usually do. */
static void prove_all_replicas(const Plan *plan, ProveReport *report, Links *links) {
  bool back = false;
  while (follow_replicas(plan, report, links, back, false))
    back = !back;
  follow_replicas(plan, report, links, false, true);
}

static void prove_adjoints(const Plan *plan, ProveReport *report) {
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    View view = {.plan = plan, .report = report, .class = &plan->classes[i]};
    for (uint32_t axis = 0; axis < plan->axes_count; axis++)
      view.coordinate[axis] = plan->bounds[view.class->bounds_first + axis].first;
    if (prove_memory(&view)) prove_adjoint(&view);
    view_close(&view);
  }
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
  prove_scratch(plan, report);
  Links links = {0};
  prove_communication(plan, report, &links);
  Classes *classes = step_classes_open(plan, report, &links);
  for (uint32_t c = 0; c < plan->classes_count && classes != NULL; c++)
    prove_class(plan, &plan->classes[c], report, classes);
  if (classes != NULL) step_classes_close(classes);
  /* Where operands lie is known to be right from here on. */
  if (report->finding_count == 0) prove_all_replicas(plan, report, &links);
  if (report->finding_count == 0) prove_adjoints(plan, report);
  free(links.link);
  return report->finding_count == 0;
}
