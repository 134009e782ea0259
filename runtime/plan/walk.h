/* walk.h -- the order in which a program's calls run, loops written out. */
#ifndef LOCKSTEP_WALK_H
#define LOCKSTEP_WALK_H

#include "runtime/plan/plan.h"
#include "runtime/process/status.h"

/* How far a walk has got. */
typedef struct Position {
  const PlanProgram *program;
  const PlanCall *call;
  const PlanLoop *loop; /* NULL: in none */
  uint32_t call_number; /* in the program */
  uint32_t end;         /* of the loop, or the next call */
  uint32_t iteration;
  int64_t microbatch;
  uint64_t running; /* calls run before this one, counting iterations */
} Position;

typedef bool WalkVisit(void *context, const Position *at, Status *status);

/* Visits every call in order, as often as it runs. False if a visit returns false. */
bool walk_calls(const Plan *plan, const PlanProgram *program, WalkVisit *visit, void *context,
                Status *status);

/* The running number of the call that `wait` of the call at `at` refers to; false: it would be in
 * an iteration before the first. */
bool walk_awaited(const Plan *plan, const Position *at, const PlanWait *wait, uint64_t *running);

/* The running number of the last time that a run of the program makes the call. */
uint64_t walk_last(const Plan *plan, const PlanProgram *program, uint32_t call);

#endif
