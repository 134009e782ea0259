/* flops.c -- the FLOPs of a model, independent of how it is divided among ranks. */
#include "compiler/graph/ops/op.h"

static int64_t list_flops(const Graph *g, const NodeList *list) {
  int64_t flops = 0;
  for (int32_t i = 0; i < list->count; i++) {
    Lowered low;
    op_lower(g, graph_node(g, list->at[i]), &low);
    flops += low.flops - low.recomputed_flops;
  }
  return flops;
}

int64_t op_flops_per_token(const Graph *g, int64_t tokens) {
  int64_t flops = 0;
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    flops += region->repeat * (list_flops(g, &region->forward) + list_flops(g, &region->backward));
  }
  return flops / tokens;
}
