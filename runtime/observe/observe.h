/* observe.h -- optional records of what one rank did in its steps: a line for each step in
 * ranks/RANK.jsonl of the run folder, the records of chosen steps in ranks/RANK.trace, and the
 * facts by which ranks are compared. Allocates nothing between opening and closing. */
#ifndef LOCKSTEP_OBSERVE_H
#define LOCKSTEP_OBSERVE_H

#include "runtime/comm/comm.h"
#include "runtime/observe/breakdown.h"
#include "runtime/observe/stragglers.h"
#include "runtime/process/text.h"

typedef struct ObserveSetup {
  const Plan *plan;
  const Mesh *mesh;
  const PlanProgram *train;
  int32_t rank;
  int64_t every; /* ranks are compared after every so many steps, and at the end; 0: never */
  int64_t trace_first, trace_last; /* steps; 0: none */
} ObserveSetup;

typedef struct Observe {
  ObserveSetup setup;
  StepLog log;
  Text lines;    /* of ranks/RANK.jsonl */
  int trace;     /* descriptor of ranks/RANK.trace; -1: none */
  int failure;   /* errno of the first write that failed; 0: none */
  int64_t steps; /* that have ended */
  Breakdown newest;
  RankTimes times;
  RecordTimes records; /* in all steps except the first, which warms up */
  Stragglers found;
} Observe;

bool observe_open(Observe *observe, const ObserveSetup *setup, Status *status);
void observe_close(Observe *observe);

/* Call when a step has ended and its records are in the log, before the next one begins. */
void observe_step(Observe *observe, int64_t step, const StepSpan *span);

/* True if ranks are compared after this step. */
bool observe_compares(const Observe *observe, int64_t step);

/* All ranks call it, between steps. False: another rank has failed. */
bool observe_compare(Observe *observe, Comm *comm);

#endif
