/* lane.h -- the lanes of plans made here: the rows of the plan's table, in this order.
 *
 * Priorities: computation stops when a ring's next keys or another stage's values are late;
 * gathers and reductions have a layer's time. */
#ifndef LOCKSTEP_LANE_H
#define LOCKSTEP_LANE_H

#include "runtime/plan/plan.h"

/* L(id, name, priority, processor). Save is a row only of plans with snapshots or host memory; the
 * last four only of plans that use host memory. */
#define LANES(L)                                                                                   \
  L(COMPUTE, "compute", 0, DEVICE)                                                                 \
  L(CP, "cp", 2, DEVICE)                                                                           \
  L(DP, "dp", 1, DEVICE)                                                                           \
  L(PP, "pp", 2, DEVICE)                                                                           \
  L(SAVE, "save", 1, DEVICE)                                                                       \
  L(D2H, "d2h", 1, DEVICE)                                                                         \
  L(H2D, "h2d", 1, DEVICE)                                                                         \
  L(HOST, "host", 1, HOST)                                                                         \
  L(FILE, "file", 1, HOST)

#define LANE_ID(id, name, priority, processor) LANE_##id,
typedef enum Lane { LANES(LANE_ID) Lane_COUNT } Lane;
#undef LANE_ID

enum {
  LANES_OF_DEVICE = LANE_PP + 1,  /* of plans without snapshots and host memory */
  LANES_OF_SAVES = LANE_SAVE + 1, /* of plans with snapshots */
  LANES_OF_COPIES = LANE_H2D + 1, /* of plans in which only copies reach host memory */
  LANES_OF_HOST = LANE_HOST + 1   /* of plans without files */
};

#endif
