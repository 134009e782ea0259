#include "compiler/cost/link.h"

#include "compiler/cost/price.h"
#include "runtime/plan/plan_place.h"

PlanPlace link_place(const Cluster *cluster, const Mesh *mesh) {
  return (PlanPlace){.rank_count = (uint32_t)mesh_count(mesh, MESH_BIT(MESH_AXES) - 1),
                     .node_ranks = (uint32_t)cluster->devices,
                     .core_count = (uint32_t)cluster->threads};
}

PlanLink link_of(const Cluster *cluster, bool is_one_node) {
  return (PlanLink){
      .bytes_per_s = is_one_node ? cluster->intra_bytes_per_s : cluster->inter_bytes_per_s,
      .latency_ns = is_one_node ? cluster->intra_latency_ns : cluster->inter_latency_ns};
}

static bool is_one_node(const Draft *d, uint32_t axes) {
  PlanAxis sizes[MESH_AXES];
  PlanBound bounds[MESH_AXES];
  for (MeshAxis axis = MESH_REPLICATE; axis < MESH_AXES; axis++) {
    sizes[axis] = (PlanAxis){.size = (uint32_t)d->mesh.size[axis]};
    bounds[axis] = (PlanBound){0, sizes[axis].size};
  }
  PlanPlace place = link_place(d->cluster, &d->mesh);
  return place_is_one_node((Places){&place, 1}, &(PlaceBox){sizes, bounds, MESH_AXES}, axes);
}

int64_t link_record_ns(const Draft *d, const Record *record) {
  PlanLink link = link_of(d->cluster, is_one_node(d, record->axes));
  Traffic traffic = {.kind = record->kind,
                     .members = (double)mesh_count(&d->mesh, record->axes),
                     .calls = pieces_are_packed(d) ? (double)record_flat_calls(record) : 1};
  for (int32_t i = 0; i < record->operand_count; i++)
    traffic_add(&traffic, (double)record->operands[i].size_bytes, record->operands[i].access);
  return traffic_ns(&traffic, &link);
}
