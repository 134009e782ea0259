/* demand.h -- how often each record runs in a step, and what ranks ask of their communicators
 * then. */
#ifndef LOCKSTEP_COST_DEMAND_H
#define LOCKSTEP_COST_DEMAND_H

#include "compiler/machine/place/place.h"
#include "compiler/plan/simulate/price.h"
#include "runtime/plan/plan.h"

/* Adds how often each record of the plan runs in the program; `times` has one for each. */
void count_records(Arena *arena, const Plan *plan, const PlanProgram *program, int64_t *times);

/* Adds a communication that takes place so often in a step. */
void demand_add(Demand *demand, const Traffic *traffic, int64_t times);

/* The communication of every class's train step, by the axes along which communicators vary. Needs
 * no links. */
Demands demands_of(Arena *arena, const Plan *plan);

#endif
