#include "compiler/place/fabric.h"

#include <string.h>

/* ---- asking one */

int64_t fabric_node_of_slot(const Fabric *fabric, int64_t slot) {
  if (!fabric->nodes) return slot / fabric->kinds[0].seat_count;
  int64_t low = 0, high = fabric->node_count;
  while (high - low > 1) { /* the last node that begins at or before the slot */
    int64_t middle = low + (high - low) / 2;
    if (fabric->nodes[middle].slot_first <= slot)
      low = middle;
    else
      high = middle;
  }
  return low;
}

int64_t fabric_first_slot(const Fabric *fabric, int64_t node) {
  return fabric->nodes ? fabric->nodes[node].slot_first : node * fabric->kinds[0].seat_count;
}

int32_t fabric_kind_of(const Fabric *fabric, int64_t node) {
  return fabric->nodes ? fabric->nodes[node].kind : 0;
}

static int64_t unit_of(const Level *level, int64_t node) {
  return level->unit ? level->unit[node] : node / level->unit_nodes;
}

int32_t fabric_distance(const Fabric *fabric, int64_t node, int64_t other) {
  if (node == other) return 0;
  for (int32_t level = fabric->level_count - 1; level >= 0; level--)
    if (unit_of(&fabric->levels[level], node) != unit_of(&fabric->levels[level], other))
      return level + 2;
  return 1;
}

/* ---- making one */

const Fabric *fabric_make(Compile *c, const Cluster *cluster) {
  Fabric *fabric = ARENA_NEW(c->arena, Fabric);
  NodeKind *kind = ARENA_NEW(c->arena, NodeKind);
  *kind = (NodeKind){.name = cluster->name,
                     .seat_count = (int32_t)cluster->devices,
                     .intra_bytes_per_s = cluster->intra_bytes_per_s,
                     .network_bytes_per_s = cluster->inter_bytes_per_s};
  *fabric = (Fabric){.arena = c->arena,
                     .node_count = cluster->nodes,
                     .slot_count = cluster->nodes * cluster->devices,
                     .kinds = kind,
                     .kind_count = 1,
                     .is_fast = cluster->intra_bytes_per_s > 0};
  return fabric;
}
