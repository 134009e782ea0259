#include "compiler/plan/prove/prove.h"

#include "compiler/plan/prove/walk.h"
#include "runtime/plan/plan_io.h"

/* Memory class by class, then the properties that need all classes, and to know which buffer every
 * base lies in. */
static void prove_classes(const View *whole) {
  const uint32_t count = whole->plan->classes_count;
  const uint32_t findings = whole->report->finding_count;
  View *views = ARENA_ARRAY(whole->arena, View, count);
  for (uint32_t i = 0; i < count; i++) {
    views[i] = *whole;
    views[i].class = &whole->plan->classes[i];
    prove_memory(&views[i]);
  }
  if (whole->report->finding_count == findings) prove_ordering(views, count);
  for (uint32_t i = 0; i < count && whole->report->finding_count == findings; i++)
    prove_snapshot(&views[i]);
  /* From here on it is known that operands have the right sizes. */
  if (whole->report->finding_count == 0) prove_types(views, count);
}

static void count_ranks(const Plan *plan, ProveReport *report) {
  for (uint32_t i = 0; i < plan->classes_count; i++)
    report->ranks += plan->classes[i].rank_count;
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
  count_ranks(plan, report);
  whole.arena = arena_new();
  view_open(&whole);
  prove_derivatives(&whole);
  prove_evaluation(&whole);
  prove_records(&whole);
  prove_communication(&whole);
  prove_saves(&whole);
  prove_classes(&whole);
  if (report->finding_count == 0) prove_segments(&whole); /* other findings say more */
  arena_free(whole.arena);
  return report->finding_count == 0;
}
