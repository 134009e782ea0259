/* plan_place.h -- on which node a rank is: the one place that reads the plan's places. */
#ifndef LOCKSTEP_PLAN_PLACE_H
#define LOCKSTEP_PLAN_PLACE_H

#include "runtime/plan/plan.h"

/* The places of a plan, or of one that is being made. They cover every rank that is asked for. */
typedef struct Places {
  const PlanPlace *place;
  uint32_t count;
} Places;

static inline Places plan_places(const Plan *plan) {
  return (Places){plan->places, plan->places_count};
}

uint32_t place_node(Places places, uint32_t rank);

/* A mesh of axes of these sizes, outermost first, and a box of its ranks. */
typedef struct PlaceBox {
  const PlanAxis *axes;
  const PlanBound *bounds; /* one for each axis */
  uint32_t axes_count;
} PlaceBox;

/* Whether every rank of the box is on one node with all ranks that differ from it only along the
 * axes of the mask: with all members of its communicator. */
bool place_is_one_node(Places places, const PlaceBox *box, uint32_t axes_mask);

/* Of the ranks of a class and their communicator. */
bool plan_is_one_node(const Plan *plan, uint32_t class, uint32_t comm);

#endif
