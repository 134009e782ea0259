#include "compiler/draft/cost/link.h"

#include "compiler/machine/place/place.h"

double link_share(const Cluster *cluster, bool is_inside) {
  return is_inside ? cluster->sustained.intra : cluster->sustained.inter;
}

PlanLink link_of(const Reach *reach, const Cluster *cluster) {
  const double share = link_share(cluster, reach->is_in_domain);
  const bool sums_in_switches = reach->is_in_domain && !reach->is_slow_inside;
  const uint32_t trees = cluster->software.has_trees;
  const uint32_t permille = (uint32_t)(1000 * cluster->sustained.switch_sums + 0.5);
  return (PlanLink){.bytes_per_s = reach->ring_bytes_per_s * share,
                    .pair_bytes_per_s = reach->pair_bytes_per_s * share,
                    .latency_ns = reach->latency_ns,
                    .inside_latency_ns = reach->inside_latency_ns,
                    .node_members = (uint32_t)reach->node_members,
                    .ways = (sums_in_switches ? permille : 0) | trees << 16};
}

Traffic link_traffic(const Draft *d, const Record *record) {
  Traffic traffic = {.kind = record->kind,
                     .members = (double)mesh_count(&d->mesh, record->axes),
                     .calls = pieces_are_gathered(d) ? (double)record_flat_calls(record) : 1,
                     .has_library = d->cluster->target != TARGET_CPU};
  for (int32_t i = 0; i < record->operand_count; i++)
    traffic_add(&traffic, (double)record->operands[i].size_bytes, record->operands[i].access);
  return traffic;
}

int64_t link_record_ns(const Draft *d, const Record *record) {
  Reach *reach = &d->reaches[record->axes];
  if (reach->node_members == 0) *reach = place_reach(d->fabric, d->usual, record->axes, -1);
  const PlanLink link = link_of(reach, d->cluster);
  const Traffic traffic = link_traffic(d, record);
  return traffic_ns(&traffic, &link);
}
