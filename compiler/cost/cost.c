#include "compiler/cost/cost.h"

/* Ranks are dealt to nodes in order, so members are at most the outermost of their axes apart. */
double cost_link_bytes_per_s(const Cluster *cluster, const Mesh *mesh, uint32_t axes) {
  int64_t span = 1;
  axes = mesh_used(mesh, axes);
  for (int32_t axis = MESH_AXES - 1; axis >= 0 && axes != 0; axis--) {
    span *= mesh->size[axis];
    axes &= ~MESH_BIT(axis);
  }
  bool in_node = cluster->nodes == 1 || (cluster->devices > 0 && cluster->devices % span == 0);
  return in_node ? cluster->intra_bytes_per_s : cluster->inter_bytes_per_s;
}

/* What crosses a rank's link one way: rings for reductions and gathers; of an exchange the larger
 * of what leaves and what comes. */
static double link_bytes(const Draft *d, const Record *record) {
  double n = (double)mesh_count(&d->mesh, record->axes), whole = 0, sent = 0, received = 0;
  for (int32_t i = 0; i < record->operand_count; i++) {
    double bytes = (double)record->operands[i].size_bytes;
    if (bytes > whole) whole = bytes;
    *(record->operands[i].access == ACCESS_READ ? &sent : &received) += bytes;
  }
  switch (record->kind) {
  case RECORD_ALL_REDUCE: return 2 * (n - 1) / n * whole;
  case RECORD_EXCHANGE: return sent > received ? sent : received;
  default: return (n - 1) / n * whole;
  }
}

int64_t cost_record_ns(const Draft *d, const Record *record) {
  const Cluster *cluster = d->cluster;
  double seconds = 0;
  double link = cost_link_bytes_per_s(cluster, &d->mesh, record->axes);
  if (record->meaning != NULL && link > 0)
    seconds = link_bytes(d, record) / link;
  else if (record->kind == RECORD_KERNEL) {
    double peak = d->train->compute_dtype == DTYPE_BF16 ? cluster->flops_bf16 : cluster->flops_fp32;
    if (peak > 0) seconds = (double)record->flops / peak;
    double moving =
        cluster->memory_bytes_per_s > 0 ? (double)record->bytes / cluster->memory_bytes_per_s : 0;
    if (moving > seconds) seconds = moving;
  }
  return (int64_t)(seconds * 1e9 + 0.5);
}

void cost_segments(Draft *d) {
  for (int32_t s = 0; s < d->segments.count; s++) {
    Segment *segment = &d->segments.at[s];
    segment->compute_ns = 0;
    for (int32_t i = 0; i < segment->records.count; i++) {
      const Record *record = &segment->records.at[i];
      bool steady = plan_when(record->when_all, record->when_none, 0);
      if (steady && record->lane == LANE_COMPUTE) segment->compute_ns += cost_record_ns(d, record);
    }
  }
}

static int64_t list_model_flops(const Graph *g, const NodeList *list) {
  int64_t flops = 0;
  for (int32_t i = 0; i < list->count; i++) {
    Lowered low;
    op_lower(g, graph_node(g, list->at[i]), &low);
    flops += low.flops - low.recomputed_flops;
  }
  return flops;
}

int64_t cost_flops_per_token(const Graph *g, int64_t tokens) {
  int64_t flops = 0;
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    flops += region->repeat *
             (list_model_flops(g, &region->forward) + list_model_flops(g, &region->backward));
  }
  return flops / tokens;
}
