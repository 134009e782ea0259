#include "runtime/plan/plan_place.h"

/* ---- coordinates: digits of the rank */

typedef struct PlacePart {
  uint32_t size, stride;
} PlacePart;

static PlacePart first_part(const PlanAxis *axis) {
  return (PlacePart){axis->near > 0 ? axis->near : axis->size,
                     axis->size > 1 ? axis->rank_stride : 1};
}

static PlacePart last_part(const PlanAxis *axis) {
  if (axis->near == 0) return first_part(axis);
  return (PlacePart){axis->size / axis->near, axis->far_stride};
}

static uint32_t digit_of(PlacePart part, uint32_t rank) {
  return rank / part.stride % part.size;
}

/* By how much other axes rotate the last part of this one. */
static uint32_t turn_of(const PlanAxis *axes, uint32_t rank, uint32_t axis) {
  uint32_t turn = 0;
  for (uint32_t i = 0; i < PLAN_AXES_MAX; i++)
    if ((axes[axis].slant_axes >> i & 1u) != 0) turn += digit_of(first_part(&axes[i]), rank);
  return turn;
}

uint32_t axes_coordinate(const PlanAxis *axes, uint32_t rank, uint32_t axis) {
  const PlanAxis *at = &axes[axis];
  PlacePart last = last_part(at);
  uint32_t turned = (digit_of(last, rank) + turn_of(axes, rank, axis)) % last.size;
  return at->near == 0 ? turned : digit_of(first_part(at), rank) + turned * at->near;
}

/* The rank with one digit changed. */
static uint32_t with_digit(uint32_t rank, PlacePart part, uint32_t digit) {
  return rank - digit_of(part, rank) * part.stride + digit * part.stride;
}

/* So many places back, wrapping around. */
static uint32_t turned_back(uint32_t digit, uint32_t turn, uint32_t size) {
  return (digit + size - turn % size) % size;
}

uint32_t plan_rank_along(const Plan *plan, uint32_t rank, uint32_t axis, uint32_t coordinate) {
  const PlanAxis *at = &plan->axes[axis];
  PlacePart first = first_part(at), last = last_part(at);
  uint32_t to = rank, own = at->near == 0 ? coordinate : coordinate / at->near;
  if (at->near > 0) to = with_digit(to, first, coordinate % at->near);
  to = with_digit(to, last, turned_back(own, turn_of(plan->axes, rank, axis), last.size));
  for (uint32_t i = 0; i < plan->axes_count; i++) { /* axes that it slants keep their coordinates */
    PlacePart slanted = last_part(&plan->axes[i]);
    if ((plan->axes[i].slant_axes >> axis & 1u) == 0) continue;
    uint32_t stays = digit_of(slanted, rank) + digit_of(first, rank);
    to = with_digit(to, slanted,
                    turned_back(stays % slanted.size, digit_of(first, to), slanted.size));
  }
  return to;
}

/* ---- classes: boxes of coordinates */

bool plan_classes_meet(const Plan *plan, const PlanClass *a, const PlanClass *b, uint32_t axes) {
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    const PlanBound *x = &plan->bounds[a->bounds_first + axis];
    const PlanBound *y = &plan->bounds[b->bounds_first + axis];
    if ((axes >> axis & 1u) != 0 && (x->end <= y->first || y->end <= x->first)) return false;
  }
  return true;
}

static int64_t modulo(int64_t value, int64_t size) {
  return ((value % size) + size) % size;
}

uint32_t plan_class_at_distance(const Plan *plan, uint32_t class, uint32_t comm, int64_t distance) {
  uint32_t axis = 0;
  while ((plan->comms[comm].axes_mask >> axis & 1) == 0)
    axis++;
  int64_t size = plan->axes[axis].size;
  const PlanBound *from = &plan->bounds[plan->classes[class].bounds_first];
  int64_t width = from[axis].end - from[axis].first;
  if (modulo(distance, size) == 0 || width == size) return class;
  int64_t first = modulo(from[axis].first + modulo(distance, size), size);
  for (uint32_t k = 0; k < plan->classes_count; k++) {
    const PlanBound *to = &plan->bounds[plan->classes[k].bounds_first];
    bool same = to[axis].first == first && to[axis].end - to[axis].first == width;
    for (uint32_t other = 0; other < plan->axes_count && same; other++)
      same = other == axis ||
             (to[other].first == from[other].first && to[other].end == from[other].end);
    if (same) return k;
  }
  return PLAN_NONE;
}

/* ---- nodes */

RankPlace plan_place(const Plan *plan, uint32_t rank) {
  uint32_t low = 0, high = plan->places_count;
  while (high - low > 1) { /* finds the last run that begins at or before the rank */
    uint32_t middle = low + (high - low) / 2;
    if (plan->places[middle].rank_first <= rank)
      low = middle;
    else
      high = middle;
  }
  const PlanPlace *run = &plan->places[low];
  uint32_t offset = rank - run->rank_first, position = offset % run->node_ranks;
  const PlanSeat *seats = &plan->seats[run->seats_first];
  return (RankPlace){.run = run,
                     .node = run->node_first + offset / run->node_ranks,
                     .position = position,
                     .seat = run->seats_count > 0 ? &seats[position] : NULL};
}
