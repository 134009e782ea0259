/* plan_check_places.c -- the places of ranks, and the links between them. */
#include <math.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_why.h"

/* Every rank has one coordinate in each part of an axis. */
typedef struct AxisPart {
  uint32_t axis, size, stride;
} AxisPart;

static uint32_t list_parts(const Plan *plan, AxisPart *parts) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->axes_count; i++) {
    const PlanAxis *axis = &plan->axes[i];
    uint32_t near = axis->near > 0 ? axis->near : axis->size;
    if (axis->size == 1) continue;
    parts[count++] = (AxisPart){i, near, axis->rank_stride};
    if (axis->near > 0) parts[count++] = (AxisPart){i, axis->size / near, axis->far_stride};
  }
  return count;
}

static bool check_near(const Plan *plan, uint32_t index, char *why) {
  const PlanAxis *axis = &plan->axes[index];
  if (axis->near == 0)
    return axis->far_stride == 0 ||
           plan_refuse(why, "axes[%u]: a far stride of %u, and nothing is near", index,
                       axis->far_stride);
  return (axis->near > 1 && axis->near < axis->size && axis->size % axis->near == 0) ||
         plan_refuse(why, "axes[%u]: %u of %u are near", index, axis->near, axis->size);
}

/* An axis is slanted by another one, never in a cycle, so that coordinates follow from the rank and
 * the rank from coordinates. */
static bool check_slant(const Plan *plan, uint32_t index, char *why) {
  const PlanAxis *axis = &plan->axes[index];
  for (uint32_t i = 0; i < AXES_MAX; i++) {
    if ((axis->slant_axes >> i & 1u) == 0) continue;
    if (i >= plan->axes_count || i >= PLAN_AXES_MAX || i == index)
      return plan_refuse(why, "axes[%u]: slanted by axes[%u], which is no other axis", index, i);
    if (plan->axes[i].slant_axes != 0)
      return plan_refuse(why, "axes[%u]: slanted by axes[%u], which is slanted itself", index, i);
  }
  return true;
}

/* The stride of a part is the product of the parts inside it, so that coordinates and ranks are one
 * to one.
 */
static bool check_part(const AxisPart *parts, uint32_t count, uint32_t index, char *why) {
  const AxisPart *part = &parts[index];
  uint64_t inside = 1;
  for (uint32_t i = 0; i < count; i++) {
    const AxisPart *other = &parts[i];
    if (other->stride == part->stride && i != index)
      return plan_refuse(why, "axes[%u]: the rank stride %u is that of axes[%u]", part->axis,
                         part->stride, other->axis);
    if (other->stride < part->stride) inside *= other->size;
  }
  return part->stride == inside ||
         plan_refuse(why, "axes[%u]: a rank stride of %u, but %llu ranks are inside", part->axis,
                     part->stride, (unsigned long long)inside);
}

static bool check_strides(const Plan *plan, char *why) {
  AxisPart parts[2 * AXES_MAX];
  for (uint32_t i = 0; i < plan->axes_count; i++)
    if (!check_near(plan, i, why) || !check_slant(plan, i, why)) return false;
  uint32_t count = list_parts(plan, parts);
  for (uint32_t i = 0; i < count; i++)
    if (!check_part(parts, count, i, why)) return false;
  return true;
}

enum { SEATS_MOST = 1024 };

static bool check_seats(const Plan *plan, uint32_t index, char *why) {
  const PlanPlace *place = &plan->places[index];
  if (place->seats_count == 0) return true;
  if (place->seats_count > SEATS_MOST)
    return plan_refuse(why, "places[%u]: %u seats, more than %d", index, place->seats_count,
                       SEATS_MOST);
  if (place->seats_count != place->node_ranks)
    return plan_refuse(why, "places[%u]: %u seats for %u ranks a node", index, place->seats_count,
                       place->node_ranks);
  const PlanSeat *seat = &plan->seats[place->seats_first];
  for (uint32_t a = 0; a < place->seats_count; a++)
    for (uint32_t b = 0; b < a; b++)
      if (seat[a].device == seat[b].device)
        return plan_refuse(why, "places[%u]: device %u is on two seats", index, seat[a].device);
  return true;
}

static bool check_place(const Plan *plan, uint32_t index, uint64_t *ranks, uint64_t *nodes,
                        char *why) {
  const PlanPlace *place = &plan->places[index];
  if (place->rank_first != *ranks || place->rank_count == 0)
    return plan_refuse(why, "places[%u]: ranks %u + %u, but rank %llu is next", index,
                       place->rank_first, place->rank_count, (unsigned long long)*ranks);
  if (place->node_ranks == 0 || place->node_first < *nodes)
    return plan_refuse(why, "places[%u]: %u ranks a node, from node %u on", index,
                       place->node_ranks, place->node_first);
  if (place->core_count != job_threads(plan))
    return plan_refuse(why, "places[%u]: %u cores a rank for its %u threads", index,
                       place->core_count, job_threads(plan));
  *ranks += place->rank_count;
  *nodes = (uint64_t)place->node_first + (place->rank_count - 1) / place->node_ranks;
  if (*nodes > INT32_MAX) return plan_refuse(why, "places[%u]: too many nodes", index);
  return check_seats(plan, index, why);
}

static bool check_link(const Plan *plan, uint32_t index, char *why) {
  const PlanLink *link = &plan->links[index];
  if (link->class != index / plan->comms_count || link->comm != index % plan->comms_count)
    return plan_refuse(why, "links[%u]: of classes[%u] and comms[%u], which have another index",
                       index, link->class, link->comm);
  if (!isfinite(link->bytes_per_s) || link->bytes_per_s < 0 || link->latency_ns < 0 ||
      link->inside_latency_ns < 0)
    return plan_refuse(why, "links[%u]: %g bytes/s, %lld ns", index, link->bytes_per_s,
                       (long long)link->latency_ns);
  if (!isfinite(link->pair_bytes_per_s) || link->pair_bytes_per_s < 0)
    return plan_refuse(why, "links[%u]: %g bytes/s of a pair", index, link->pair_bytes_per_s);
  if (link->node_members > plan_comm_size(plan, link->comm))
    return plan_refuse(why, "links[%u]: %u members on a node, of %u", index, link->node_members,
                       plan_comm_size(plan, link->comm));
  return true;
}

bool plan_check_places(const Plan *plan, char *why) {
  uint64_t ranks = 0, nodes = 0, all = 1;
  if (!check_strides(plan, why)) return false;
  for (uint32_t i = 0; i < plan->places_count; i++)
    if (!check_place(plan, i, &ranks, &nodes, why)) return false;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    all *= plan->axes[axis].size; /* no overflow: plan_check_mesh */
  if (ranks != all)
    return plan_refuse(why, "places: of %llu ranks, the mesh has %llu", (unsigned long long)ranks,
                       (unsigned long long)all);
  uint64_t pairs = (uint64_t)plan->classes_count * plan->comms_count;
  if (plan->links_count != pairs)
    return plan_refuse(why, "links: %u, not one for each of %u classes and %u communicators",
                       plan->links_count, plan->classes_count, plan->comms_count);
  for (uint32_t i = 0; i < plan->links_count; i++)
    if (!check_link(plan, i, why)) return false;
  return true;
}
