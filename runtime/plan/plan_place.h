/* plan_place.h -- a rank's coordinates, its node, and its hardware there: the one place that reads
 * the plan's strides and places. Ranks are below the product of the plan's axes.
 */
#ifndef LOCKSTEP_PLAN_PLACE_H
#define LOCKSTEP_PLAN_PLACE_H

#include "runtime/plan/plan.h"

/* A rank's coordinates along all axes of the plan. */
uint32_t axes_coordinate(const PlanAxis *axes, uint32_t rank, uint32_t axis);

static inline uint32_t plan_coordinate(const Plan *plan, uint32_t rank, uint32_t axis) {
  return axes_coordinate(plan->axes, rank, axis);
}

/* The rank that differs in this one coordinate. */
uint32_t plan_rank_along(const Plan *plan, uint32_t rank, uint32_t axis, uint32_t coordinate);

/* True if ranks of the two classes have the same coordinates along all axes of the mask. */
bool plan_classes_meet(const Plan *plan, const PlanClass *a, const PlanClass *b, uint32_t axes);

/* The class `distance` places further along the only axis of the communicator, wrapping around;
 * PLAN_NONE: not the same class for all ranks of the class. */
uint32_t plan_class_at_distance(const Plan *plan, uint32_t class, uint32_t comm, int64_t distance);

typedef struct RankPlace {
  const PlanPlace *run;
  uint32_t node;
  uint32_t position;    /* among the ranks of its node */
  const PlanSeat *seat; /* NULL: the node is not described */
} RankPlace;

RankPlace plan_place(const Plan *plan, uint32_t rank);

/* Number of the rank's device on its node, as the driver counts. */
static inline uint32_t place_device(const RankPlace *place) {
  return place->seat != NULL ? place->seat->device : place->run->device_first + place->position;
}

#endif
