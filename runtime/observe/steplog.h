/* steplog.h -- when each record of the current step ran. Memory is allocated before the first step,
 * because a lane has the same number of records in every step. */
#ifndef LOCKSTEP_OBSERVE_STEPLOG_H
#define LOCKSTEP_OBSERVE_STEPLOG_H

#include "runtime/plan/plan.h"
#include "runtime/process/status.h"
#include "runtime/trace/trace.h"

/* Written by the thread that is told of the lane's works. */
typedef struct StepLogLane {
  int64_t room;  /* records of a step */
  int64_t count; /* entries so far */
  TraceEntry *entry;
} StepLogLane;

typedef struct StepLog {
  int64_t step;
  StepLogLane lane[PLAN_LANES_MAX];
} StepLog;

/* For runs of `program`, one at a time. */
bool steplog_open(StepLog *log, const Plan *plan, const PlanProgram *program, Status *status);
void steplog_close(StepLog *log);

/* Forgets the step before. */
void steplog_begin(StepLog *log, int64_t step);
void steplog_add(StepLog *log, const TraceEntry *entry);

/* How often each record runs in a run of the program: `times` has room for all of the plan's.
 * Loads are not counted. */
bool steplog_count(const Plan *plan, const PlanProgram *program, int64_t *times, Status *status);

#endif
