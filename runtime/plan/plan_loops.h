/* plan_loops.h -- the loop that a call is in, how often it runs, and the launch it belongs to. */
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

/* The launch that the call at a position of the program is part of; NULL: it runs alone. */
static inline const PlanLaunch *plan_launch_of(const Plan *plan, const PlanProgram *program,
                                               uint32_t position) {
  for (uint32_t l = 0; l < program->launches_count; l++) {
    const PlanLaunch *launch = &plan->launches[program->launches_first + l];
    if (position >= launch->first_call && position - launch->first_call < launch->call_count)
      return launch;
  }
  return NULL;
}

/* The number of micro-batches that a run of the program loads; 0 for NULL. */
static inline int64_t plan_loads(const Plan *plan, const PlanProgram *program) {
  int64_t loads = 0;
  for (uint32_t c = 0; program != NULL && c < program->calls_count; c++) {
    const PlanCall *call = &plan->calls[program->calls_first + c];
    const PlanSegment *segment = &plan->segments[call->segment];
    for (uint32_t i = 0; i < segment->records_count; i++) {
      const PlanRecord *record = &plan->records[segment->records_first + i];
      if (record->kind == RECORD_LOAD && plan_runs(call, record))
        loads += plan_call_times(plan, program, c);
    }
  }
  return loads;
}

/* How many works a run of the program issues: kernels, communications and loads; a launch counts
 * once, and so does a record with the one that may be fused with it. */
static inline uint64_t plan_issues(const Plan *plan, const PlanProgram *program) {
  uint64_t issues = 0;
  for (uint32_t c = 0; c < program->calls_count; c++) {
    const PlanLaunch *launch = plan_launch_of(plan, program, c);
    const PlanCall *call = &plan->calls[program->calls_first + c];
    const PlanSegment *segment = &plan->segments[call->segment];
    for (uint32_t i = 0; i < segment->records_count && launch == NULL; i++) {
      const PlanRecord *record = &plan->records[segment->records_first + i];
      if (plan_runs(call, record) && !record->fuses) issues += plan_call_times(plan, program, c);
    }
  }
  return issues + program->launches_count;
}

/* The program whose call a wait of `program` names: one of the same class. NULL: there is none. */
static inline const PlanProgram *plan_awaited(const Plan *plan, const PlanProgram *program,
                                              const PlanWait *wait) {
  const uint32_t index = (uint32_t)(program - plan->programs);
  if (wait->program == program->kind) return program;
  for (uint32_t c = 0; c < plan->classes_count; c++)
    if (index - plan->classes[c].programs_first < plan->classes[c].programs_count)
      return plan_program(plan, &plan->classes[c], (ProgramKind)wait->program);
  return NULL;
}

#endif
