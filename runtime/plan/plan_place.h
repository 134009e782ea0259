/* plan_place.h -- which coordinates a rank has, on which node it is, and what it has there: the one
 * place that reads the plan's strides and places. Ranks are below the product of the plan's axes.
 */
#ifndef LOCKSTEP_PLAN_PLACE_H
#define LOCKSTEP_PLAN_PLACE_H

#include "runtime/plan/plan.h"

static inline uint32_t plan_coordinate(const Plan *plan, uint32_t rank, uint32_t axis) {
  const PlanAxis *at = &plan->axes[axis];
  if (at->size == 1) return 0;
  if (at->near == 0) return rank / at->rank_stride % at->size;
  return rank / at->rank_stride % at->near +
         rank / at->far_stride % (at->size / at->near) * at->near;
}

/* What the coordinate adds to the rank. */
static inline uint32_t plan_axis_ranks(const PlanAxis *axis, uint32_t coordinate) {
  if (axis->near == 0) return coordinate * axis->rank_stride;
  return coordinate % axis->near * axis->rank_stride + coordinate / axis->near * axis->far_stride;
}

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
