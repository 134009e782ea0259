/* plan_when.h -- which records of its segment a call runs. Part of plan.h. */
#ifndef LOCKSTEP_PLAN_WHEN_H
#define LOCKSTEP_PLAN_WHEN_H

#include "runtime/plan/plan.h"

/* True if a record with these masks runs in calls with these flags. */
static inline bool plan_when(uint32_t when_all, uint32_t when_none, uint32_t flags) {
  return (flags & when_all) == when_all && (flags & when_none) == 0;
}

/* True if the call runs this record of its segment. */
static inline bool plan_runs(const PlanCall *call, const PlanRecord *record) {
  return plan_when(record->when_all, record->when_none, call->flags);
}

#endif
