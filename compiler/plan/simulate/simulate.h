/* simulate.h -- how long a program takes when lanes run side by side.
 *
 * In:   reads a plan that has predicted times of kernels, and rates of links for communications.
 * Out:  for each class, when the last lane is done, how long the main lane waited for others, and
 * how long each lane was busy; for a picture, what ran when.
 *
 * A record starts when the previous one on its lane is over, the records that its edges name, and
 * what its call waits for. A communication between classes starts when all of these classes have
 * reached it. */
#ifndef LOCKSTEP_COST_SIMULATE_H
#define LOCKSTEP_COST_SIMULATE_H

#include "compiler/base/base.h"
#include "compiler/plan/simulate/price.h"

/* Time of the main lane by cause; the rest of its time it waited for the host. */
typedef struct LaneParts {
  int64_t compute_ns;
  int64_t exposed_ns[PLAN_AXES_MAX + 1]; /* in communication over an axis, or waiting for it; last:
                                            over several at once */
  int64_t bubble_ns; /* in exchanges between stages of a pipeline, beyond what they take */
} LaneParts;

typedef struct LaneTimes {
  int64_t span_ns;    /* until every lane is done, or the next run may begin */
  int64_t exposed_ns; /* of it, the main lane waits for other lanes, at the end included */
  int64_t apart_ns; /* of it, the main lane waits for other classes in communications of its own */
  int64_t busy_ns[PLAN_LANES_MAX];
  LaneParts parts;
  bool is_stuck; /* it waits for other classes for ever: the plan does not pass `prove` */
} LaneTimes;

/* By class; zeros where a class has no program of the kind. */
LaneTimes *simulate(Arena *arena, const Plan *plan, ProgramKind kind);

/* Records that a lane runs without a pause: one record of a call, or a whole call that has one
 * lane.
 */
typedef struct Stretch {
  uint32_t class, lane;
  const PlanCall *call;
  const PlanRecord *record; /* NULL: all of the call */
  int32_t microbatch;       /* of this iteration; -1: none */
  int64_t start_ns, end_ns;
} Stretch;

/* Called for each stretch as it is over: in order within a class and lane. */
typedef struct StretchSink {
  void (*take)(void *state, const Stretch *stretch);
  void *state;
} StretchSink;

/* The same of a run that is alone, and each stretch is handed to the sink: every iteration of every
 * loop is walked. */
LaneTimes *simulate_stretches(Arena *arena, const Plan *plan, ProgramKind kind,
                              const StretchSink *sink);

#endif
