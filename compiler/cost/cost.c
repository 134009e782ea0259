#include "compiler/cost/cost.h"

#include "compiler/cost/link.h"

int64_t cost_kernel_ns(const Draft *d, const Record *record) {
  const Cluster *cluster = d->cluster;
  double seconds = 0;
  if (record->kind != RECORD_KERNEL) return 0;
  double peak = d->train->compute_dtype == DTYPE_BF16 ? cluster->flops_bf16 : cluster->flops_fp32;
  if (peak > 0) seconds = (double)record->flops / peak;
  double moving =
      cluster->memory_bytes_per_s > 0 ? (double)record->bytes / cluster->memory_bytes_per_s : 0;
  if (moving > seconds) seconds = moving;
  return (int64_t)(seconds * 1e9 + 0.5);
}

void cost_segments(Draft *d) {
  for (int32_t s = 0; s < d->segments.count; s++) {
    Segment *segment = &d->segments.at[s];
    segment->compute_ns = 0;
    for (int32_t i = 0; i < segment->records.count; i++) {
      const Record *record = &segment->records.at[i];
      bool steady = plan_when(record->when_all, record->when_none, 0);
      if (!steady || record->lane != LANE_COMPUTE) continue;
      segment->compute_ns +=
          record->meaning != NULL ? link_record_ns(d, record) : cost_kernel_ns(d, record);
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
