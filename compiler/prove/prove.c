#include "compiler/prove/prove.h"

#include <stdlib.h>

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

/* Where everything lies, as the rank at these coordinates has it, and that lanes do not meet there.
 * False: a finding says why it is not known. */
static bool prove_places(View *view, const uint32_t *coordinate, Braids *braids) {
  view_from(view, coordinate);
  if (!prove_memory(view)) return false;
  prove_ordering(view, braids);
  return true;
}

/* `first` is left open. What is wrong on the first rank is not told again of others. */
static bool prove_class(View *first, Braids *braids) {
  Members members = members_of(first);
  bool ready = members.count > 0 && prove_places(first, members.coordinates[0], braids);
  uint32_t findings = first->report->finding_count;
  for (uint32_t i = 1; ready && i < members.count && first->report->finding_count == findings;
       i++) {
    View other = {.plan = first->plan, .report = first->report, .class = first->class};
    if (prove_places(&other, members.coordinates[i], braids)) compare_ledgers(first, &other);
    view_close(&other);
  }
  free(members.coordinates);
  return ready;
}

/* Class by class, then what only all of them show: of the plan in which nothing is packed. */
static void prove_classes(const Plan *plan, const Plan *unpacked, ProveReport *report,
                          View *views) {
  View whole = {.plan = plan, .report = report};
  Braids *braids = braids_open(&whole);
  bool ready = braids != NULL;
  for (uint32_t i = 0; i < plan->classes_count && ready; i++) {
    views[i] = (View){.plan = plan, .report = report, .class = &plan->classes[i]};
    ready = prove_class(&views[i], braids);
    views[i].plan = unpacked;
  }
  if (braids != NULL) braids_close(plan, braids);
  /* What operands are, and where they lie, is known to be right from here on. */
  if (ready && report->finding_count == 0) prove_types(views, plan->classes_count);
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

bool prove(const Plan *plan, ProveReport *report) {
  *report = (ProveReport){0};
  View whole = {.plan = plan, .report = report};
  char why[PLAN_WHY_BYTES];
  if (!plan_check(plan, why)) {
    prove_finding(&whole, NULL, -1, "structure", "%s", why);
    return false;
  }
  count(plan, report);
  prove_derivatives(plan, report);
  prove_evaluation(plan, report);
  prove_shapes(plan, report);
  Unpacked unpacked;
  bool ready = unpacked_open(&whole, &unpacked);
  if (ready && plan->regions_count > 0) prove_records(&unpacked.plan, report);
  prove_communication(plan, report);
  View *views = prove_array(&whole, plan->classes_count, sizeof *views);
  if (ready && views != NULL) prove_classes(plan, &unpacked.plan, report, views);
  for (uint32_t i = 0; views != NULL && i < plan->classes_count; i++)
    view_close(&views[i]);
  free(views);
  unpacked_close(&unpacked);
  return report->finding_count == 0;
}
