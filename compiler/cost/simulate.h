/* simulate.h -- how long a program takes when lanes run side by side.
 *
 * In:   a plan whose records say how long they take.
 * Out:  for each class, when the last lane is done, how long computation stood still for others,
 * and how long each lane was at work.
 *
 * A record starts when the one before it on its lane is over, the records that its edges name, and
 * what its call waits for. A communication between classes starts when all of them have come to
 * it. */
#ifndef LOCKSTEP_COST_SIMULATE_H
#define LOCKSTEP_COST_SIMULATE_H

#include "compiler/base/base.h"
#include "runtime/plan/plan.h"

typedef struct LaneTimes {
  int64_t span_ns;    /* until every lane is done */
  int64_t exposed_ns; /* of it, LANE_COMPUTE waits for other lanes, at the end included */
  int64_t apart_ns;   /* of it, LANE_COMPUTE waits for other classes in communications of its own */
  int64_t busy_ns[Lane_COUNT];
} LaneTimes;

/* By class; zeros where a class has no program of the kind. */
LaneTimes *simulate(Arena *arena, const Plan *plan, ProgramKind kind);

#endif
