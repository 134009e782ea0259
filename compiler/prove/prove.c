#include "compiler/prove/prove.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/prove/braid.h"
#include "compiler/prove/derivatives/derivatives.h"
#include "compiler/prove/events.h"
#include "compiler/prove/packed.h"
#include "compiler/prove/records/records.h"
#include "compiler/prove/types/types.h"
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

/* What is worked out for one class and serves the others. */
typedef struct All {
  const Plan *unpacked; /* packed.h */
  Told told;
  Braids *braids;
  Classes *classes;
} All;

/* Where everything lies, as the rank at these coordinates has it. False: a finding says why not. */
static bool open_view(View *view, const uint32_t *coordinate, Told *told) {
  memcpy(view->coordinate, coordinate, sizeof view->coordinate);
  return prove_memory(view) && find_repeats(view, told);
}

/* Properties of where things lie: of every rank that stands for others. From here on the view is of
 * the plan in which nothing is packed. */
static void prove_places(View *view, const All *all) {
  prove_ordering(view, all->braids);
  view->plan = all->unpacked;
  prove_dataflow(view);
  prove_values(view);
}

/* `first` is left open. */
static bool prove_class(View *first, All *all) {
  const Plan *plan = first->plan;
  Members members = members_of(first);
  bool ready = members.count > 0 && open_view(first, members.coordinates[0], &all->told) &&
               find_parts(first);
  if (ready) {
    prove_places(first, all);
    prove_twins(first);
    prove_step(first, all->classes);
  }
  /* What is wrong on the first rank is not told again of others. */
  uint32_t findings = first->report->finding_count;
  for (uint32_t i = 1; ready && i < members.count && first->report->finding_count == findings;
       i++) {
    View other = {.plan = plan, .report = first->report, .class = first->class};
    if (open_view(&other, members.coordinates[i], &all->told)) {
      compare_ledgers(first, &other);
      prove_places(&other, all);
    }
    view_close(&other);
  }
  free(members.coordinates);
  return ready;
}

/* One pass over all classes; from the last to the first when `back`. */
static bool follow_replicas(const View *views, uint32_t count, Links *links, bool back) {
  bool changed = false;
  for (uint32_t i = 0; i < count; i++)
    changed = prove_replicas(&views[back ? count - 1 - i : i], links, back) || changed;
  return changed;
}

/* Values go down the stages of a pipeline and gradients up, so that two passes usually do. What was
 * found counts when nothing changes any more. */
static void prove_all_replicas(const View *views, uint32_t count, Links *links) {
  ProveReport *report = views[0].report;
  uint32_t findings = report->finding_count;
  for (bool back = false; follow_replicas(views, count, links, back); back = !back)
    report->finding_count = findings;
}

/* Class by class, then what only all of them show. */
static void prove_classes(const Plan *plan, const Plan *unpacked, ProveReport *report, Links *links,
                          View *views) {
  View whole = {.plan = plan, .report = report};
  All all = {.unpacked = unpacked,
             .braids = braids_open(&whole),
             .classes = step_classes_open(unpacked, report, links)};
  bool ready = all.braids != NULL && all.classes != NULL;
  for (uint32_t i = 0; i < plan->classes_count && ready; i++) {
    views[i] = (View){.plan = plan, .report = report, .class = &plan->classes[i]};
    ready = prove_class(&views[i], &all);
  }
  if (all.classes != NULL) step_classes_close(all.classes);
  if (all.braids != NULL) braids_close(plan, all.braids);
  free(all.told.story);
  /* Where operands lie is known to be right from here on. */
  if (ready && report->finding_count == 0) prove_all_replicas(views, plan->classes_count, links);
  for (uint32_t i = 0; ready && i < plan->classes_count && report->finding_count == 0; i++)
    prove_adjoint(&views[i]);
  if (ready && report->finding_count == 0 && plan->regions_count > 0)
    prove_types(views, plan->classes_count);
}

/* What a call of these flags runs of a segment. */
typedef struct Counted {
  uint32_t flags;
  bool known;
  uint64_t records, accesses, communications;
} Counted;

static Counted count_call(const Walk *walk) {
  Counted counted = {.flags = walk->call->flags, .known = true};
  for (uint32_t i = 0; i < walk->segment->records_count; i++) {
    const PlanRecord *record = walk_record(walk, i);
    if (!walk_runs(walk, record)) continue;
    counted.records++;
    counted.accesses += record->operands_count;
    counted.communications += record_is_communication(record);
  }
  return counted;
}

static void count_program(const View *view, uint32_t program, Counted *counted) {
  ProveReport *report = view->report;
  Walk walk = walk_begin(view, &view->plan->programs[program]);
  while (walk_next(&walk)) {
    Counted *last = &counted[walk.call->segment];
    if (!last->known || last->flags != walk.call->flags) *last = count_call(&walk);
    report->calls++;
    report->records += last->records;
    report->accesses += last->accesses;
    report->communications += last->communications;
  }
}

static void count(const Plan *plan, ProveReport *report) {
  View whole = {.plan = plan, .report = report};
  Counted *counted = prove_array(&whole, plan->segments_count, sizeof *counted);
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    View view = {.plan = plan, .report = report, .class = &plan->classes[c]};
    report->ranks += view.class->rank_count;
    for (uint32_t p = 0; p < view.class->programs_count && counted != NULL; p++)
      count_program(&view, view.class->programs_first + p, counted);
  }
  free(counted);
  report->classes = plan->classes_count;
  for (uint32_t i = 0; i < plan->comms_count; i++) {
    bool is_new = true;
    for (uint32_t k = 0; k < i; k++)
      is_new = is_new && plan->comms[k].axes_mask != plan->comms[i].axes_mask;
    report->communicators += is_new;
  }
}

/* Whatever the plan does is compared with the model that it carries. */
static void prove_model(const Plan *plan, ProveReport *report) {
  View view = {.plan = plan, .report = report};
  if (plan->regions_count == 0 && plan->jobs[0].parameters > 0)
    prove_finding(&view, NULL, -1, "derivatives", "the plan has parameters, but no model");
  prove_derivatives(plan, report);
  prove_evaluation(plan, report);
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
  prove_model(plan, report);
  prove_shapes(plan, report);
  Unpacked unpacked;
  bool ready = unpacked_open(&whole, &unpacked);
  if (ready && plan->regions_count > 0) prove_records(&unpacked.plan, report);
  Links links = {0};
  prove_communication(plan, report, &links);
  View *views = prove_array(&whole, plan->classes_count, sizeof *views);
  if (ready && views != NULL) prove_classes(plan, &unpacked.plan, report, &links, views);
  for (uint32_t i = 0; views != NULL && i < plan->classes_count; i++)
    view_close(&views[i]);
  free(views);
  unpacked_close(&unpacked);
  free(links.link);
  return report->finding_count == 0;
}
