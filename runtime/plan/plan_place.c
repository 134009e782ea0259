#include "runtime/plan/plan_place.h"

RankPlace plan_place(const Plan *plan, uint32_t rank) {
  uint32_t low = 0, high = plan->places_count;
  while (high - low > 1) { /* the last run that begins at or before the rank */
    uint32_t middle = low + (high - low) / 2;
    if (plan->places[middle].rank_first <= rank)
      low = middle;
    else
      high = middle;
  }
  const PlanPlace *run = &plan->places[low];
  uint32_t behind = rank - run->rank_first, position = behind % run->node_ranks;
  const PlanSeat *seats = &plan->seats[run->seats_first];
  return (RankPlace){.run = run,
                     .node = run->node_first + behind / run->node_ranks,
                     .position = position,
                     .seat = run->seats_count > 0 ? &seats[position] : NULL};
}
