#include "compiler/machine/place/fabric.h"

#include "compiler/machine/place/describe.h"
#include "compiler/machine/place/rate.h"

/* ---- asking one */

/* The last run that begins at or before the node; or, where it is not negative, the slot. */
static const NodeRun *run_of(const Fabric *fabric, int64_t node, int64_t slot) {
  int32_t low = 0, high = fabric->run_count;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    const NodeRun *run = &fabric->runs[middle];
    if (slot >= 0 ? run->slot_first <= slot : run->node_first <= node)
      low = middle;
    else
      high = middle;
  }
  return &fabric->runs[low];
}

int64_t fabric_node_of_slot(const Fabric *fabric, int64_t slot) {
  const NodeRun *run = run_of(fabric, 0, slot);
  return run->node_first + (slot - run->slot_first) / fabric->kinds[run->kind].seat_count;
}

int64_t fabric_first_slot(const Fabric *fabric, int64_t node) {
  const NodeRun *run = run_of(fabric, node, -1);
  return run->slot_first + (node - run->node_first) * fabric->kinds[run->kind].seat_count;
}

int32_t fabric_kind_of(const Fabric *fabric, int64_t node) {
  return run_of(fabric, node, -1)->kind;
}

static int64_t unit_of(const Level *level, int64_t node) {
  return level->unit ? level->unit[node] : node / level->unit_nodes;
}

int32_t rail_count(const uint64_t rails[RAIL_WORDS]) {
  int32_t count = 0;
  for (int32_t w = 0; w < RAIL_WORDS; w++)
    for (uint64_t left = rails[w]; left; left &= left - 1)
      count++;
  return count;
}

int32_t fabric_distance(const Fabric *fabric, int64_t node, int64_t other) {
  if (node == other) return 0;
  for (int32_t level = fabric->level_count - 1; level >= 0; level--)
    if (unit_of(&fabric->levels[level], node) != unit_of(&fabric->levels[level], other))
      return level + 2;
  return 1;
}

/* ---- making one */

static bool is_fast(const NodeKind *kind) {
  for (int32_t i = 0; kind->pairs && i < kind->seat_count * kind->seat_count; i++)
    if (kind->pairs[i].link_class >= LINK_NV && kind->pairs[i].link_class <= LINK_XGMI) return true;
  return !kind->pairs && kind->intra_bytes_per_s > 0;
}

static void count_cluster(Cluster *cluster, const Fabric *fabric) {
  cluster->nodes = fabric->node_count;
  cluster->ranks = fabric->slot_count;
  cluster->devices = 0;
  for (int32_t k = 0; k < fabric->kind_count; k++)
    if (fabric->kinds[k].seat_count > cluster->devices)
      cluster->devices = fabric->kinds[k].seat_count;
  const HostNode *host = fabric->kinds[0].host;
  if (cluster->target == TARGET_CPU && host) cluster->cores_described = host->cores.count;
}

const Fabric *fabric_make(Compile *c, Cluster *cluster) {
  Fabric *fabric = ARENA_NEW(c->arena, Fabric);
  NodeKind *kinds = ARENA_ARRAY(c->arena, NodeKind, cluster->type_count);
  *fabric = (Fabric){.arena = c->arena,
                     .kinds = kinds,
                     .memos = ARENA_ARRAY(c->arena, RateMemo *, cluster->type_count),
                     .kind_count = cluster->type_count,
                     .intra_latency_ns = cluster->intra_latency_ns,
                     .inter_latency_ns = cluster->inter_latency_ns};
  cluster->link_share = 1;
  for (int32_t k = 0; k < cluster->type_count; k++) {
    if (!describe_kind(c, cluster, &cluster->types[k], &kinds[k])) return NULL;
    if (kinds[k].seat_count > SEATS_MOST) {
      error_at(c, cluster->at, "range", "more than %d devices a node", SEATS_MOST);
      fix_last(c, "devices = %d", SEATS_MOST);
      return NULL;
    }
    fabric->is_fast |= is_fast(&kinds[k]);
    if (cluster->is_link_device && kinds[k].link_share < cluster->link_share)
      cluster->link_share = kinds[k].link_share;
    fabric->memos[k] = rate_memo(c->arena);
  }
  if (!describe_network(c, cluster, fabric)) return NULL;
  count_cluster(cluster, fabric);
  return fabric;
}
