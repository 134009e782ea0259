/* reach.c -- what lies between the members of a communicator.
 *
 * Communicators of a mask that share a node are found by their first slot. Where nodes are alike
 * and axes fill them evenly, one node stands for all. */
#include <string.h>

#include "compiler/place/place.h"
#include "compiler/place/rate.h"

/* Members of communicators on one node. */
typedef struct Parts {
  int32_t of[SEATS_MOST]; /* each position: its communicator on this node; -1: another stage */
  int64_t first_slot[SEATS_MOST]; /* of each communicator's first member, wherever it is */
  int32_t count;
} Parts;

typedef struct Search {
  const Fabric *fabric;
  const Placement *at;
  uint32_t axes;
  int32_t stage;
  int64_t size, last; /* of a communicator: members; slots from the first to the last */
} Search;

static int64_t coordinate_of(const Placement *at, int32_t axis, int64_t slot) {
  return at->size[axis] > 1 ? slot / at->stride[axis] % at->size[axis] : 0;
}

static bool has_axis(uint32_t axes, int32_t axis) {
  return (axes >> axis & 1u) != 0;
}

static int64_t first_slot_of(const Search *s, int64_t slot) {
  int64_t first = slot;
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    if (has_axis(s->axes, axis)) first -= coordinate_of(s->at, axis, slot) * s->at->stride[axis];
  return first;
}

static bool is_of_stage(const Search *s, int64_t slot) {
  return s->stage < 0 || has_axis(s->axes, MESH_PP) ||
         coordinate_of(s->at, MESH_PP, slot) == s->stage;
}

/* Is the whole node another stage's? Said only where its first slot tells. */
static bool is_of_others(const Search *s, int64_t node) {
  int64_t seats = s->fabric->kinds[fabric_kind_of(s->fabric, node)].seat_count;
  int64_t slot = fabric_first_slot(s->fabric, node), stride = s->at->stride[MESH_PP];
  return slot % seats == 0 && stride % seats == 0 && !is_of_stage(s, slot);
}

static void find_parts(const Search *s, int64_t node, Parts *parts) {
  const NodeKind *kind = &s->fabric->kinds[fabric_kind_of(s->fabric, node)];
  int64_t slot = fabric_first_slot(s->fabric, node);
  parts->count = 0;
  for (int32_t p = 0; p < kind->seat_count; p++, slot++) {
    parts->of[p] = -1;
    if (!is_of_stage(s, slot)) continue;
    int64_t first = first_slot_of(s, slot);
    int32_t part = 0;
    while (part < parts->count && parts->first_slot[part] != first)
      part++;
    if (part == parts->count) parts->first_slot[parts->count++] = first;
    parts->of[p] = part;
  }
}

/* What the members of one communicator have on this node. */
typedef struct Part {
  int32_t seats[SEATS_MOST], count;
  uint64_t rails[RAIL_WORDS];
  double network_bytes_per_s, least_share_bytes_per_s;
} Part;

static void fill_part(const Search *s, int32_t kind_index, const Parts *parts, int32_t number,
                      Part *part) {
  const NodeKind *kind = &s->fabric->kinds[kind_index];
  part->count = 0;
  memset(part->rails, 0, sizeof part->rails);
  part->network_bytes_per_s = part->least_share_bytes_per_s = 0;
  for (int32_t p = 0; p < kind->seat_count; p++) {
    if (parts->of[p] != number) continue;
    int32_t seat = s->at->seats[kind_index][p];
    double share = kind->seats ? kind->seats[seat].network_bytes_per_s : kind->network_bytes_per_s;
    part->seats[part->count++] = seat;
    part->network_bytes_per_s += share;
    part->least_share_bytes_per_s = least_known(part->least_share_bytes_per_s, share);
    for (int32_t w = 0; kind->seats && w < RAIL_WORDS; w++)
      part->rails[w] |= kind->seats[seat].rails[w];
  }
}

/* Rates of a path that leaves the node; 0 of what is unknown. */
static void leave_node(const Search *s, const Part *part, int32_t distance, double *ring,
                       double *pair) {
  const Fabric *fabric = s->fabric;
  const Level *lowest = fabric->level_count > 0 ? &fabric->levels[0] : NULL;
  if (distance == 1 && lowest && lowest->bytes_per_s > 0) {
    *ring = *pair = lowest->bytes_per_s;
    return;
  }
  double taper = distance > 1 ? fabric->levels[distance - 2].taper : 1;
  *ring = part->network_bytes_per_s / taper;
  *pair = part->least_share_bytes_per_s / taper;
}

static void take_slower(double *rate, double other, bool is_first) {
  if (is_first || other < *rate) *rate = other; /* 0 is unknown, and makes the whole unknown */
}

static NodeRate rate_inside(const Search *s, int32_t kind, const Part *part) {
  RateMemo *memo = s->fabric->memos ? s->fabric->memos[kind] : NULL;
  return rate_of_seats(&s->fabric->kinds[kind], memo, part->seats, part->count);
}

static Reach reach_of_part(const Search *s, int32_t kind, int32_t distance, const Part *part,
                           double sharers) {
  NodeRate inside = {0};
  Reach reach = {.distance = distance, .node_members = part->count};
  if (part->count > 1) inside = rate_inside(s, kind, part);
  if (inside.is_between_sockets) inside.ring_bytes_per_s /= sharers;
  reach.is_slow_inside = inside.is_slow;
  reach.ring_bytes_per_s = inside.ring_bytes_per_s;
  reach.pair_bytes_per_s = inside.pair_bytes_per_s;
  if (part->count == s->size) return reach;
  double ring, pair;
  leave_node(s, part, distance, &ring, &pair);
  reach.ring_bytes_per_s = ring > 0 ? least_known(ring, inside.ring_bytes_per_s) : 0;
  reach.pair_bytes_per_s = pair > 0 ? least_known(pair, inside.pair_bytes_per_s) : 0;
  reach.rails = rail_count(part->rails);
  return reach;
}

static void join_reach(Reach *all, const Reach *part, bool is_first) {
  if (part->ring_bytes_per_s > 0) all->ring_mean_s_per_byte += 1 / part->ring_bytes_per_s;
  if (part->pair_bytes_per_s > 0) all->pair_mean_s_per_byte += 1 / part->pair_bytes_per_s;
  take_slower(&all->ring_bytes_per_s, part->ring_bytes_per_s, is_first);
  take_slower(&all->pair_bytes_per_s, part->pair_bytes_per_s, is_first);
  all->is_slow_inside |= part->is_slow_inside;
  if (part->distance > all->distance) all->distance = part->distance;
  if (is_first || part->node_members < all->node_members) all->node_members = part->node_members;
  if (is_first || part->rails < all->rails) all->rails = part->rails;
}

/* How many communicators of a node go between its sockets at the same time. */
static double count_sharers(const Search *s, int32_t kind, const Parts *parts) {
  Part part;
  int32_t sharers = 0;
  if (!s->fabric->kinds[kind].pairs) return 1;
  for (int32_t i = 0; i < parts->count; i++) {
    fill_part(s, kind, parts, i, &part);
    sharers += part.count > 1 && rate_inside(s, kind, &part).is_between_sockets;
  }
  return sharers > 1 ? sharers : 1;
}

/* Nodes ascend with slots, so the first member and the last say how far it goes. */
static int32_t distance_of(const Search *s, int64_t first_slot) {
  return fabric_distance(s->fabric, fabric_node_of_slot(s->fabric, first_slot),
                         fabric_node_of_slot(s->fabric, first_slot + s->last));
}

/* Adds the communicators of a node; `parts_seen` counts them. */
static void visit_node(const Search *s, int64_t node, int32_t distance, Reach *all,
                       int32_t *parts_seen) {
  Parts parts;
  Part part;
  int32_t kind = fabric_kind_of(s->fabric, node);
  find_parts(s, node, &parts);
  double sharers = count_sharers(s, kind, &parts);
  for (int32_t i = 0; i < parts.count; i++) {
    fill_part(s, kind, &parts, i, &part);
    int32_t farthest = distance >= 0 ? distance : distance_of(s, parts.first_slot[i]);
    Reach reach = reach_of_part(s, kind, farthest, &part, sharers);
    join_reach(all, &reach, (*parts_seen)++ == 0);
  }
}

/* ---- one node for all */

/* Does every node hold the same pieces of every axis? */
static bool is_even(const Search *s) {
  int64_t seats = s->fabric->kinds[0].seat_count;
  if (s->fabric->kind_count > 1) return false;
  for (int32_t axis = 0; axis < MESH_AXES; axis++) {
    int64_t stride = s->at->stride[axis];
    if (s->at->size[axis] > 1 && seats % stride != 0 && stride % seats != 0) return false;
  }
  return true;
}

static bool next_first(const Search *s, int64_t *coordinate) {
  for (int32_t axis = MESH_AXES - 1; axis >= 0; axis--) {
    if (has_axis(s->axes, axis) || (axis == MESH_PP && s->stage >= 0)) continue;
    if (++coordinate[axis] < s->at->size[axis]) return true;
    coordinate[axis] = 0;
  }
  return false;
}

/* Do whole communicators fill every node? */
static bool is_inside_nodes(const Search *s) {
  for (int32_t axis = 0; axis < MESH_AXES; axis++) {
    int64_t span = s->at->stride[axis] * s->at->size[axis];
    if (has_axis(s->axes, axis) && s->at->size[axis] > 1 &&
        s->fabric->kinds[0].seat_count % span != 0)
      return false;
  }
  return true;
}

/* The farthest of all communicators, by their first members. */
static int32_t find_farthest(const Search *s) {
  int64_t coordinate[MESH_AXES] = {0};
  int32_t farthest = 0;
  if (is_inside_nodes(s)) return 0;
  if (s->stage >= 0 && !has_axis(s->axes, MESH_PP)) coordinate[MESH_PP] = s->stage;
  do {
    int64_t slot = 0;
    for (int32_t axis = 0; axis < MESH_AXES; axis++)
      slot += coordinate[axis] * s->at->stride[axis];
    int32_t distance = distance_of(s, slot);
    if (distance > farthest) farthest = distance;
  } while (farthest <= s->fabric->level_count && next_first(s, coordinate));
  return farthest;
}

static int32_t farthest_distance(const Search *s) {
  int64_t stages = s->at->size[MESH_PP];
  int32_t *known = &s->at->farthest[s->axes * (stages + 1) + s->stage + 1];
  if (*known < 0) *known = find_farthest(s);
  return *known;
}

static Search search_of(const Fabric *fabric, const Placement *at, uint32_t axes, int32_t stage) {
  Search s = {.fabric = fabric, .at = at, .axes = axes, .stage = stage, .size = 1};
  for (int32_t axis = 0; axis < MESH_AXES; axis++) {
    if (!has_axis(axes, axis)) continue;
    s.size *= at->size[axis];
    s.last += (at->size[axis] - 1) * at->stride[axis];
  }
  return s;
}

int32_t place_alike_stage(const Fabric *fabric, const Placement *at, uint32_t axes, int32_t stage) {
  Search s = search_of(fabric, at, axes, stage);
  if (has_axis(axes, MESH_PP)) return 0;
  if (s.size == 1 || !is_even(&s) || at->stride[MESH_PP] % fabric->kinds[0].seat_count != 0)
    return stage;
  int32_t farthest = farthest_distance(&s);
  for (s.stage = 0; s.stage < stage; s.stage++)
    if (farthest_distance(&s) == farthest) return s.stage;
  return stage;
}

Reach place_reach(const Fabric *fabric, const Placement *at, uint32_t axes, int32_t stage) {
  Search s = search_of(fabric, at, axes, stage);
  Reach all = {0};
  int32_t parts = 0;
  if (s.size == 1) return all;
  if (is_even(&s)) {
    int64_t slot = stage > 0 && !has_axis(axes, MESH_PP) ? stage * at->stride[MESH_PP] : 0;
    visit_node(&s, fabric_node_of_slot(fabric, slot), farthest_distance(&s), &all, &parts);
  } else {
    for (int64_t node = 0; node < fabric->node_count; node++)
      if (!is_of_others(&s, node)) visit_node(&s, node, -1, &all, &parts);
  }
  all.latency_ns = all.distance > 0 ? fabric->inter_latency_ns : fabric->intra_latency_ns;
  if (parts > 0) all.ring_mean_s_per_byte /= parts, all.pair_mean_s_per_byte /= parts;
  return all;
}
