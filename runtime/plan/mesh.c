/* mesh.c -- arithmetic on the coordinates that a plan gives ranks. */
#include "runtime/plan/mesh.h"

#include "runtime/plan/plan_layout.h"
#include "runtime/plan/plan_place.h"

bool mesh_read(Mesh *mesh, const Plan *plan, Status *status) {
  if (plan->axes_count > MESH_AXES_MAX)
    return status_fail(status, STATUS_OURS, "the plan's mesh has %u axes; this program knows %d",
                       plan->axes_count, MESH_AXES_MAX);
  *mesh = (Mesh){.axis_count = (int32_t)plan->axes_count, .rank_count = 1};
  for (int32_t i = 0; i < mesh->axis_count; i++) {
    const PlanAxis *axis = &plan->axes[i];
    uint32_t size = axis->size;
    if (size == 0 || size > (uint32_t)(MESH_RANKS_MAX / mesh->rank_count))
      return status_fail(status, STATUS_OURS, "the plan's mesh axis %d has size %u", i, size);
    mesh->axes[i] = *axis;
    mesh->size[i] = (int32_t)size;
    mesh->rank_count *= (int32_t)size;
    if (axis->divides == DIVIDES_SAMPLES) mesh->replica_axes |= 1u << i;
  }
  return true;
}

void mesh_coordinates(const Mesh *mesh, int32_t rank, int32_t coordinate[MESH_AXES_MAX]) {
  for (int32_t i = 0; i < mesh->axis_count; i++)
    coordinate[i] = (int32_t)axes_coordinate(mesh->axes, (uint32_t)rank, (uint32_t)i);
}

int32_t mesh_number(const Mesh *mesh, int32_t rank) {
  int32_t coordinate[MESH_AXES_MAX] = {0}, number = 0;
  mesh_coordinates(mesh, rank, coordinate);
  for (int32_t i = 0; i < mesh->axis_count; i++)
    number = number * mesh->size[i] + coordinate[i];
  return number;
}

MeshGroup mesh_group(const Mesh *mesh, uint32_t axes_mask, int32_t rank) {
  int32_t coordinate[MESH_AXES_MAX] = {0};
  mesh_coordinates(mesh, rank, coordinate);
  MeshGroup found = {.group_count = 1, .member_count = 1};
  for (int32_t i = 0; i < mesh->axis_count; i++) {
    bool varies = axes_mask >> i & 1u;
    int32_t *number = varies ? &found.member : &found.group;
    int32_t *count = varies ? &found.member_count : &found.group_count;
    *number = *number * mesh->size[i] + coordinate[i];
    *count *= mesh->size[i];
  }
  return found;
}

MeshGroup mesh_comm(const Mesh *mesh, const Plan *plan, uint32_t comm, int32_t rank) {
  return mesh_group(mesh, plan->comms[comm].axes_mask, rank);
}

uint32_t mesh_same_axes(const Plan *plan, const PlanClass *class, const PlanTensor *tensor) {
  uint32_t cut = plan_layout_axes(plan, tensor->layout), same = 0;
  for (uint32_t i = 0; i < plan->axes_count && i < class->bounds_count; i++) {
    const PlanBound *bound = &plan->bounds[class->bounds_first + i];
    if ((cut >> i & 1u) == 0 && bound->end - bound->first > 1) same |= 1u << i;
  }
  return same;
}

int32_t mesh_share_of(const MeshShares *shares, uint32_t axes) {
  for (int32_t i = 0; i < shares->count; i++)
    if (shares->axes[i] == axes) return i;
  return -1;
}

MeshShares mesh_shares(const Plan *plan) {
  MeshShares shares = {0};
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const PlanClass *class = &plan->classes[c];
    for (uint32_t i = 0; i < class->tensors_count; i++) {
      uint32_t axes = mesh_same_axes(plan, class, &plan->tensors[class->tensors_first + i]);
      if (axes != 0 && mesh_share_of(&shares, axes) < 0 && shares.count < MESH_SHARES_MAX)
        shares.axes[shares.count++] = axes;
    }
  }
  return shares;
}

int32_t mesh_replicas(const Mesh *mesh) {
  return mesh_group(mesh, mesh->replica_axes, 0).member_count;
}

int32_t mesh_replica(const Mesh *mesh, int32_t rank) {
  return mesh_group(mesh, mesh->replica_axes, rank).member;
}

bool mesh_is_first_of_replica(const Mesh *mesh, int32_t rank) {
  uint32_t all = (1u << mesh->axis_count) - 1;
  return mesh_group(mesh, all & ~mesh->replica_axes, rank).member == 0;
}

const PlanClass *mesh_class(const Mesh *mesh, const Plan *plan, int32_t rank) {
  int32_t coordinate[MESH_AXES_MAX] = {0};
  mesh_coordinates(mesh, rank, coordinate);
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    const PlanClass *class = &plan->classes[i];
    bool inside = true;
    for (uint32_t axis = 0; axis < class->bounds_count && axis < (uint32_t)mesh->axis_count;
         axis++) {
      const PlanBound *bound = &plan->bounds[class->bounds_first + axis];
      uint32_t at = (uint32_t)coordinate[axis];
      inside = inside && at >= bound->first && at < bound->end;
    }
    if (inside) return class;
  }
  return NULL;
}
