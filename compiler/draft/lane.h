/* lane.h -- the lanes of plans made here: the rows of the plan's table, in this order.
 *
 * Urgent lanes first: computation stops when a ring's next keys or another stage's values are late;
 * gathers and reductions have a layer's time. */
#ifndef LOCKSTEP_LANE_H
#define LOCKSTEP_LANE_H

#define LANES(L) L(COMPUTE, "compute", 0) L(CP, "cp", 2) L(DP, "dp", 1) L(PP, "pp", 2)

#define LANE_ID(id, name, priority) LANE_##id,
typedef enum Lane { LANES(LANE_ID) Lane_COUNT } Lane;
#undef LANE_ID

#endif
