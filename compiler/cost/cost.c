#include "compiler/cost/cost.h"

/* What one rank sends: rings for reductions and gathers, everything once for exchanges. */
static double sent_bytes(const Draft *d, const Record *record) {
  double n = (double)mesh_count(&d->mesh, record->axes), whole = 0, sent = 0;
  for (int32_t i = 0; i < record->operand_count; i++) {
    double bytes = (double)record->operands[i].size_bytes;
    if (bytes > whole) whole = bytes;
    if (record->operands[i].access == ACCESS_READ) sent += bytes;
  }
  switch (record->kind) {
  case RECORD_ALL_REDUCE: return 2 * (n - 1) / n * whole;
  case RECORD_EXCHANGE: return sent;
  default: return (n - 1) / n * whole;
  }
}

int64_t cost_record_ns(const Draft *d, const Record *record) {
  const Cluster *cluster = d->cluster;
  double seconds = 0;
  if (record->meaning != NULL && cluster->link_bytes_per_s > 0)
    seconds = sent_bytes(d, record) / cluster->link_bytes_per_s;
  else if (record->kind == RECORD_KERNEL) {
    double peak = d->train->compute_dtype == DTYPE_BF16 ? cluster->flops_bf16 : cluster->flops_fp32;
    if (peak > 0) seconds = (double)record->flops / peak;
    double moving =
        cluster->memory_bytes_per_s > 0 ? (double)record->bytes / cluster->memory_bytes_per_s : 0;
    if (moving > seconds) seconds = moving;
  }
  return (int64_t)(seconds * 1e9 + 0.5);
}

static int64_t list_flops(const Graph *g, const NodeList *list) {
  int64_t flops = 0;
  for (int32_t i = 0; i < list->count; i++) {
    Lowered low;
    op_lower(g, graph_node(g, list->at[i]), &low);
    flops += low.flops;
  }
  return flops;
}

int64_t cost_flops_per_token(const Graph *g, int64_t tokens) {
  int64_t flops = 0;
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    flops += region->repeat * (list_flops(g, &region->forward) + list_flops(g, &region->backward));
  }
  return flops / tokens;
}
