/* place_by_rank.h -- small machines, and the price of any placement on them, worked out rank by
 * rank from the slot of each. */
#ifndef LOCKSTEP_PLACE_BY_RANK_H
#define LOCKSTEP_PLACE_BY_RANK_H

#include <string.h>

#include "compiler/machine/place/place.h"
#include "compiler/machine/place/rate.h"

enum { RANKS_MOST = 16, KINDS_MOST = 2, MASKS = 1 << MESH_AXES };

/* ---- machines */

static const double giga = 1e9;

/* Nodes of equal seats, all pairs alike, a NIC for each seat. */
static Fabric plain(Arena *arena, int64_t nodes, int32_t seats, double intra, double network) {
  NodeKind *kind = ARENA_NEW(arena, NodeKind);
  NodeRun *run = ARENA_NEW(arena, NodeRun);
  *kind = (NodeKind){.name = "plain",
                     .seat_count = seats,
                     .intra_bytes_per_s = intra * giga,
                     .network_bytes_per_s = network * giga};
  return (Fabric){.arena = arena,
                  .node_count = nodes,
                  .slot_count = nodes * seats,
                  .kinds = kind,
                  .kind_count = 1,
                  .runs = run,
                  .run_count = 1,
                  .is_fast = true};
}

/* Links by pair of seats, "nnn..." row by row: digits are direct links of 25 GB/s, '-' is PCIe, 's'
 * the path between sockets. */
static Fabric linked(Arena *arena, int64_t nodes, int32_t seats, const char *rows) {
  Fabric fabric = plain(arena, nodes, seats, 0, 6);
  NodeKind *kind = ARENA_NEW(arena, NodeKind);
  SeatPair *pairs = ARENA_ARRAY(arena, SeatPair, seats * seats);
  for (int32_t i = 0; i < seats * seats; i++) {
    bool is_direct = rows[i] >= '1' && rows[i] <= '9';
    double rate = is_direct ? 25.0 * (rows[i] - '0') : rows[i] == '-' ? 12 : 9;
    LinkClass link_class = is_direct ? LINK_NV : rows[i] == '-' ? LINK_PHB : LINK_SYS;
    pairs[i] = (SeatPair){rate * giga, link_class, is_direct};
  }
  *kind = *fabric.kinds;
  kind->pairs = pairs;
  fabric.kinds = kind;
  return fabric;
}

static void add_level(Fabric *fabric, const char *name, int64_t nodes, double fast, double taper) {
  fabric->levels[fabric->level_count++] =
      (Level){.name = name, .unit_nodes = nodes, .bytes_per_s = fast * giga, .taper = taper};
}

static JobMesh mesh_of(int64_t tp, int64_t cp, int64_t pp, int64_t dp) {
  JobMesh mesh = {{1, dp, pp, cp, tp, 1}};
  return mesh;
}

/* Along every axis, GB of a step: rings of tp and dp, pairs of cp and pp. */
static Demands demands_of_mesh(Arena *arena, const JobMesh *mesh, const double gigabytes[4]) {
  static const MeshAxis axes[] = {MESH_TP, MESH_CP, MESH_PP, MESH_DP};
  int32_t stages = (int32_t)mesh->size[MESH_PP], count = 0;
  Demand *at = ARENA_ARRAY(arena, Demand, 4 * stages);
  for (int32_t stage = 0; stage < stages; stage++)
    for (int32_t i = 0; i < 4; i++) {
      if (mesh->size[axes[i]] == 1) continue;
      bool is_pair = axes[i] == MESH_CP || axes[i] == MESH_PP;
      at[count++] = (Demand){.axes = MESH_BIT(axes[i]),
                             .stage = stage,
                             .ring_bytes = is_pair ? 0 : gigabytes[i] * giga,
                             .pair_bytes = is_pair ? gigabytes[i] * giga : 0};
    }
  return (Demands){at, count, stages};
}

/* ---- communicators */

typedef struct Group {
  int32_t member[RANKS_MOST], count, stage; /* stage -1: of several */
} Group;

typedef struct Groups {
  Group at[RANKS_MOST];
  int32_t count;
} Groups;

/* Where each rank is. */
typedef struct Ranks {
  const Fabric *fabric;
  int32_t count, slot[RANKS_MOST];
  Groups *groups[MASKS]; /* of masks that are asked for */
  RateMemo *memo[KINDS_MOST];
} Ranks;

/* Ranks are numbered by coordinates, the last axis fastest. */
static int32_t coordinate(const JobMesh *mesh, int32_t axis, int32_t rank) {
  for (int32_t a = MESH_AXES - 1; a > axis; a--)
    rank /= (int32_t)mesh->size[a];
  return rank % (int32_t)mesh->size[axis];
}

static bool is_together(const JobMesh *mesh, uint32_t axes, int32_t a, int32_t b) {
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    if ((axes >> axis & 1u) == 0 && coordinate(mesh, axis, a) != coordinate(mesh, axis, b))
      return false;
  return true;
}

static Groups *groups_of(Arena *arena, const JobMesh *mesh, uint32_t axes, int32_t ranks) {
  Groups *groups = ARENA_NEW(arena, Groups);
  for (int32_t rank = 0; rank < ranks; rank++) {
    int32_t g = 0;
    while (g < groups->count && !is_together(mesh, axes, groups->at[g].member[0], rank))
      g++;
    groups->count += g == groups->count;
    Group *group = &groups->at[g];
    group->member[group->count++] = rank;
    group->stage = (axes >> MESH_PP & 1u) != 0 ? -1 : coordinate(mesh, MESH_PP, rank);
  }
  return groups;
}

/* Each on the slot of its number. */
static Ranks ranks_of(const Fabric *fabric, const JobMesh *mesh, const Demands *demands) {
  Ranks r = {.fabric = fabric, .count = (int32_t)fabric->slot_count};
  for (int32_t i = 0; i < fabric->kind_count; i++)
    r.memo[i] = rate_memo(fabric->arena);
  for (int32_t i = 0; i < r.count; i++)
    r.slot[i] = i;
  for (int32_t i = 0; i < demands->count; i++) {
    uint32_t axes = demands->at[i].axes;
    if (!r.groups[axes]) r.groups[axes] = groups_of(fabric->arena, mesh, axes, r.count);
  }
  return r;
}

/* ---- prices */

typedef struct Rates {
  double ring, pair;
} Rates;

static void lower(double *least, double rate) {
  if (rate < *least) *least = rate;
}

/* Members of a communicator on one node. */
typedef struct Local {
  int64_t node;
  int32_t kind, seats[RANKS_MOST], count;
} Local;

typedef struct Locals {
  Local at[RANKS_MOST];
  int32_t count;
} Locals;

static void locals_of(const Ranks *r, const Group *group, Locals *locals) {
  locals->count = 0;
  for (int32_t i = 0; i < group->count; i++) {
    int64_t slot = r->slot[group->member[i]], node = fabric_node_of_slot(r->fabric, slot);
    int32_t n = 0;
    while (n < locals->count && locals->at[n].node != node)
      n++;
    Local *local = &locals->at[n];
    if (n == locals->count) {
      local->node = node, local->kind = fabric_kind_of(r->fabric, node), local->count = 0;
      locals->count++;
    }
    local->seats[local->count++] = (int32_t)(slot - fabric_first_slot(r->fabric, node));
  }
}

static NodeRate inside_rate(const Ranks *r, const Local *local) {
  return rate_of_seats(&r->fabric->kinds[local->kind], r->memo[local->kind], local->seats,
                       local->count);
}

/* Rates of what leaves a node. */
static void leave(const Ranks *r, const Locals *locals, Rates *rates) {
  int32_t farthest = 0;
  for (int32_t i = 0; i < locals->count; i++)
    for (int32_t j = 0; j < i; j++) {
      int32_t distance = fabric_distance(r->fabric, locals->at[i].node, locals->at[j].node);
      if (distance > farthest) farthest = distance;
    }
  double fast = r->fabric->level_count > 0 ? r->fabric->levels[0].bytes_per_s : 0;
  double taper = farthest > 1 ? r->fabric->levels[farthest - 2].taper : 1;
  for (int32_t i = 0; i < locals->count && farthest > 0; i++) {
    double share = r->fabric->kinds[locals->at[i].kind].network_bytes_per_s / taper;
    bool is_fast = farthest == 1 && fast > 0;
    lower(&rates->ring, is_fast ? fast : share * locals->at[i].count);
    lower(&rates->pair, is_fast ? fast : share);
  }
}

/* The slowest communicators of the stage. Those that pass between the sockets of a node share it.
 */
static Rates rates_of(const Ranks *r, const Groups *groups, int32_t stage) {
  Rates rates = {1e30, 1e30};
  double between[RANKS_MOST] = {0}; /* of each node, the slowest ring between its sockets */
  int32_t sharers[RANKS_MOST] = {0};
  for (int32_t g = 0; g < groups->count; g++) {
    if (groups->at[g].stage >= 0 && groups->at[g].stage != stage) continue;
    Locals locals;
    locals_of(r, &groups->at[g], &locals);
    leave(r, &locals, &rates);
    for (int32_t i = 0; i < locals.count; i++) {
      const Local *local = &locals.at[i];
      if (local->count < 2) continue;
      NodeRate inside = inside_rate(r, local);
      lower(&rates.pair, inside.pair_bytes_per_s);
      lower(&rates.ring, inside.ring_bytes_per_s);
      if (!inside.is_between_sockets) continue;
      if (sharers[local->node]++ == 0) between[local->node] = inside.ring_bytes_per_s;
      lower(&between[local->node], inside.ring_bytes_per_s);
    }
  }
  for (int64_t node = 0; node < r->fabric->node_count; node++)
    if (sharers[node] > 0) lower(&rates.ring, between[node] / sharers[node]);
  return rates;
}

static double price(const Ranks *r, const Demands *demands) {
  double longest = 0;
  for (int32_t stage = 0; stage < demands->stages; stage++) {
    double seconds = 0;
    for (int32_t i = 0; i < demands->count; i++) {
      const Demand *d = &demands->at[i];
      if (d->stage != stage) continue;
      Rates rates = rates_of(r, r->groups[d->axes], stage);
      seconds += d->ring_bytes / rates.ring + d->pair_bytes / rates.pair;
    }
    if (seconds > longest) longest = seconds;
  }
  return longest;
}

static int32_t digit_at(const JobMesh *mesh, const Digit *digit, int32_t rank) {
  return (int32_t)(coordinate(mesh, digit->axis, rank) / digit->weight % digit->size);
}

static int64_t slot_of(const JobMesh *mesh, const Placement *at, int32_t rank) {
  int64_t slot = 0;
  for (int32_t i = 0; i < at->digit_count; i++) {
    int64_t own = digit_at(mesh, &at->digit[i], rank), size = at->digit[i].size;
    for (int32_t j = 0; at->slant != 0 && i == at->slanted && j < at->digit_count; j++)
      if ((at->slant >> j & 1u) != 0)
        own += size * RANKS_MOST - digit_at(mesh, &at->digit[j], rank);
    slot += own % size * at->digit[i].stride;
  }
  return slot;
}

static double price_of_placement(Ranks *r, const JobMesh *mesh, const Placement *at,
                                 const Demands *demands) {
  for (int32_t rank = 0; rank < r->count; rank++) {
    int64_t slot = slot_of(mesh, at, rank), node = fabric_node_of_slot(r->fabric, slot);
    int64_t first = fabric_first_slot(r->fabric, node);
    const int32_t *seats = at->seats[fabric_kind_of(r->fabric, node)];
    r->slot[rank] = (int32_t)(first + seats[slot - first]);
  }
  return price(r, demands);
}

/* The least price of all ways to give ranks from `from` on the slots that are left, or `least`. */
static double least_price(Ranks *r, int32_t from, const Demands *demands, double least) {
  if (from == r->count) {
    double seconds = price(r, demands);
    return seconds < least ? seconds : least;
  }
  for (int32_t i = from; i < r->count; i++) {
    int32_t kept = r->slot[from];
    r->slot[from] = r->slot[i], r->slot[i] = kept;
    least = least_price(r, from + 1, demands, least);
    kept = r->slot[from];
    r->slot[from] = r->slot[i], r->slot[i] = kept;
  }
  return least;
}

#endif
