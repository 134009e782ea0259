#include "runtime/plan/plan_place.h"

uint32_t place_node(Places places, uint32_t rank) {
  uint32_t low = 0, high = places.count;
  while (high - low > 1) { /* the last run that begins at or before the rank */
    uint32_t middle = low + (high - low) / 2;
    if (places.place[middle].rank_first <= rank)
      low = middle;
    else
      high = middle;
  }
  const PlanPlace *place = &places.place[low];
  return place->node_first + (rank - place->rank_first) / place->node_ranks;
}

/* Goes to the next place in the box, with the axes of the mask left at 0; false: there is none. */
static bool next_rank(const PlaceBox *box, uint32_t axes_mask, uint32_t *at) {
  for (uint32_t axis = box->axes_count; axis-- > 0;) {
    if (axes_mask >> axis & 1u) continue;
    if (++at[axis] < box->bounds[axis].end) return true;
    at[axis] = box->bounds[axis].first;
  }
  return false;
}

/* Nodes ascend with ranks, so the first and the last member say it for all between them. */
bool place_is_one_node(Places places, const PlaceBox *box, uint32_t axes_mask) {
  uint32_t at[32] = {0}, stride[32], all = 1, last = 0; /* plan_check: at most 32 axes */
  for (uint32_t axis = box->axes_count; axis-- > 0;) {
    bool varies = (axes_mask >> axis & 1u) != 0;
    stride[axis] = all;
    all *= box->axes[axis].size;
    if (varies) last += (box->axes[axis].size - 1) * stride[axis];
    at[axis] = varies ? 0 : box->bounds[axis].first;
  }
  if (last == 0) return true;
  do {
    uint32_t first = 0;
    for (uint32_t axis = 0; axis < box->axes_count; axis++)
      first += at[axis] * stride[axis];
    if (place_node(places, first) != place_node(places, first + last)) return false;
  } while (next_rank(box, axes_mask, at));
  return true;
}

bool plan_is_one_node(const Plan *plan, uint32_t class, uint32_t comm) {
  const PlaceBox box = {plan->axes, &plan->bounds[plan->classes[class].bounds_first],
                        plan->axes_count};
  return place_is_one_node(plan_places(plan), &box, plan->comms[comm].axes_mask);
}
