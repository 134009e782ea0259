/* plan_loops.h -- the loop that a call is in, and how often the call runs. */
#ifndef LOCKSTEP_PLAN_LOOPS_H
#define LOCKSTEP_PLAN_LOOPS_H

#include "runtime/plan/plan.h"

/* The loop of the call at a position of the program, or NULL. Loops do not nest. */
static inline const PlanLoop *plan_loop_of(const Plan *plan, const PlanProgram *program,
                                           uint32_t position) {
  for (uint32_t l = 0; l < program->loops_count; l++) {
    const PlanLoop *loop = &plan->loops[program->loops_first + l];
    if (position >= loop->first_call && position - loop->first_call < loop->call_count) return loop;
  }
  return NULL;
}

static inline uint32_t plan_call_times(const Plan *plan, const PlanProgram *program,
                                       uint32_t position) {
  const PlanLoop *loop = plan_loop_of(plan, program, position);
  return loop != NULL ? loop->times : 1;
}

#endif
