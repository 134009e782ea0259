/* plan_seam.h -- a program whose next run begins before this one is over.
 *
 *   main lane   ... norm | updates on the device | layer 0 | layer 1 | layer 2 | ...
 *   host                 | update, layer 1            | update, layer 2 | ...
 *   h2d                                               | weights 1       | weights 2
 *                  the run ends for the main lane ^
 *
 * A program follows itself if one of its calls waits for a record of its own run before. Such a run
 * is over for the main lane when that lane's last record is, and all that lanes which communicate
 * have in calls up to there; then control and samples of the next run are copied in. Its other
 * records continue, ordered with the next run by waits alone. A run of another program begins when
 * all lanes are empty. */
#ifndef LOCKSTEP_PLAN_SEAM_H
#define LOCKSTEP_PLAN_SEAM_H

#include "runtime/plan/plan_loops.h"

static inline bool plan_follows_itself(const Plan *plan, const PlanProgram *program) {
  for (uint32_t c = 0; c < program->calls_count; c++) {
    const PlanCall *call = &plan->calls[program->calls_first + c];
    for (uint32_t i = 0; i < call->waits_count; i++) {
      const PlanWait *wait = &plan->waits[call->waits_first + i];
      if (wait->run_back > 0 && wait->program == program->kind) return true;
    }
  }
  return false;
}

/* The position of the last call in which the main lane runs a record; 0: there is none. */
static inline uint32_t plan_main_end(const Plan *plan, const PlanProgram *program) {
  const uint32_t main_lane = plan_main_lane(plan);
  for (uint32_t c = program->calls_count; c-- > 0;) {
    const PlanCall *call = &plan->calls[program->calls_first + c];
    const PlanSegment *segment = &plan->segments[call->segment];
    for (uint32_t i = 0; i < segment->records_count; i++) {
      const PlanRecord *record = &plan->records[segment->records_first + i];
      if (record->lane == main_lane && plan_runs(call, record)) return c;
    }
  }
  return 0;
}

/* A bit for each lane that has communications. */
static inline uint32_t plan_lanes_that_communicate(const Plan *plan) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan_is_communication(&plan->records[i])) mask |= 1u << plan->records[i].lane;
  return mask;
}

#endif
