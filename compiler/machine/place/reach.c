/* reach.c -- the rates between the members of a communicator.
 *
 * Communicators of a mask on a node are identified by their first slot; one of the nodes that are
 * alike represents all. */
#include <string.h>

#include "compiler/machine/place/alike.h"
#include "compiler/machine/place/rate.h"

/* Members of communicators on one node. */
typedef struct ReachParts {
  int32_t of[SEATS_MOST]; /* each position: its communicator on this node; -1: another stage */
  int64_t first_slot[SEATS_MOST]; /* of each communicator's first member, wherever it is */
  int64_t own_slot[SEATS_MOST];   /* of a member that is here */
  int32_t count;
} ReachParts;

typedef struct ReachSearch {
  const Fabric *fabric;
  const Placement *at;
  uint32_t axes;
  int32_t stage;
  int64_t size; /* members of a communicator */
  bool is_diagonal;
} ReachSearch;

/* From the slanted digit of a member on a diagonal to that of the first member, which is not
 * rotated. */
static int64_t back_slots(const ReachSearch *s, int64_t slot) {
  const Digit *digit = &s->at->digit[s->at->slanted];
  int64_t own = digit_of(digit, slot);
  return ((own + turn_of(s->at, s->axes, slot)) % digit->size - own) * digit->stride;
}

static int64_t first_slot_of(const ReachSearch *s, int64_t slot) {
  int64_t first = slot;
  for (int32_t i = 0; i < s->at->digit_count; i++) {
    const Digit *digit = &s->at->digit[i];
    if (has_axis(s->axes, digit->axis)) first -= digit_of(digit, slot) * digit->stride;
  }
  return s->is_diagonal ? first + back_slots(s, slot) : first;
}

static bool is_of_stage(const ReachSearch *s, int64_t slot) {
  return s->stage < 0 || has_axis(s->axes, MESH_PP) ||
         coordinate_of(s->at, MESH_PP, slot) == s->stage;
}

static void find_parts(const ReachSearch *s, int64_t node, ReachParts *parts) {
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
    if (part == parts->count) {
      parts->first_slot[part] = first;
      parts->own_slot[part] = slot;
      parts->count++;
    }
    parts->of[p] = part;
  }
}

/* The rates of one communicator's members on this node. */
typedef struct ReachPart {
  int32_t seats[SEATS_MOST], count;
  uint64_t rails[RAIL_WORDS];
  double network_bytes_per_s, least_share_bytes_per_s;
} ReachPart;

static void fill_part(const ReachSearch *s, int32_t kind_index, const ReachParts *parts,
                      int32_t number, ReachPart *part) {
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

/* Rates of a path that leaves the node; unknown ones are 0. */
static void leave_node(const ReachSearch *s, const ReachPart *part, int32_t distance, double *ring,
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

static NodeRate rate_inside(const ReachSearch *s, int32_t kind, const ReachPart *part) {
  RateMemo *memo = s->fabric->memos ? s->fabric->memos[kind] : NULL;
  return rate_of_seats(&s->fabric->kinds[kind], memo, part->seats, part->count);
}

static Reach reach_of_part(const ReachSearch *s, int32_t kind, int32_t distance,
                           const ReachPart *part, double sharers) {
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

static void join_reach(Reach *all, const Reach *part, double count, bool is_first) {
  if (part->ring_bytes_per_s > 0) all->ring_mean_s_per_byte += count / part->ring_bytes_per_s;
  if (part->pair_bytes_per_s > 0) all->pair_mean_s_per_byte += count / part->pair_bytes_per_s;
  take_slower(&all->ring_bytes_per_s, part->ring_bytes_per_s, is_first);
  take_slower(&all->pair_bytes_per_s, part->pair_bytes_per_s, is_first);
  all->is_slow_inside |= part->is_slow_inside;
  if (part->distance > all->distance) all->distance = part->distance;
  if (is_first || part->node_members < all->node_members) all->node_members = part->node_members;
  if (is_first || part->rails < all->rails) all->rails = part->rails;
}

/* How many communicators of a node cross between its sockets at the same time. */
static double count_sharers(const ReachSearch *s, int32_t kind, const ReachParts *parts) {
  ReachPart part;
  int32_t sharers = 0;
  if (!s->fabric->kinds[kind].pairs) return 1;
  for (int32_t i = 0; i < parts->count; i++) {
    fill_part(s, kind, parts, i, &part);
    sharers += part.count > 1 && rate_inside(s, kind, &part).is_between_sockets;
  }
  return sharers > 1 ? sharers : 1;
}

/* Adds the communicators of a class of nodes; `seen` counts them. */
static void visit_nodes(const ReachSearch *s, const NodeClass *class, Reach *all, int64_t *seen) {
  ReachParts parts;
  ReachPart part;
  memset(parts.of, -1, sizeof *parts.of * (size_t)s->fabric->kinds[class->kind].seat_count);
  find_parts(s, class->node, &parts);
  double sharers = count_sharers(s, class->kind, &parts);
  for (int32_t i = 0; i < parts.count; i++, *seen += class->count) {
    fill_part(s, class->kind, &parts, i, &part);
    int32_t distance = alike_distance(s->fabric, s->at, s->axes, parts.own_slot[i]);
    Reach reach = reach_of_part(s, class->kind, distance, &part, sharers);
    join_reach(all, &reach, (double)class->count, *seen == 0);
  }
}

static ReachSearch search_of(const Fabric *fabric, const Placement *at, uint32_t axes,
                             int32_t stage) {
  ReachSearch s = {.fabric = fabric, .at = at, .axes = axes, .stage = stage, .size = 1};
  s.is_diagonal = at->slant != 0 && alike_is_diagonal(at, axes);
  for (int32_t i = 0; i < at->digit_count; i++) {
    const Digit *digit = &at->digit[i];
    if (!has_axis(axes, digit->axis)) continue;
    s.size *= digit->size;
  }
  return s;
}

int32_t place_alike_stage(const Fabric *fabric, const Placement *at, uint32_t axes, int32_t stage) {
  return has_axis(axes, MESH_PP) ? 0 : alike_nodes(fabric, at, axes)->like[stage];
}

Reach place_reach(const Fabric *fabric, const Placement *at, uint32_t axes, int32_t stage) {
  ReachSearch s = search_of(fabric, at, axes, stage);
  Reach all = {0};
  int64_t seen = 0;
  if (s.size == 1) return all;
  const NodeClasses *classes = alike_nodes(fabric, at, axes);
  for (int32_t i = 0; i < classes->list.count; i++) {
    const NodeClass *class = &classes->list.at[i];
    bool is_new = class->stage < 0 || classes->like[class->stage] == class->stage;
    if (class->stage < 0 || class->stage == stage || (stage < 0 && is_new))
      visit_nodes(&s, class, &all, &seen);
  }
  all.is_in_domain = all.distance == 0 || (all.distance <= fabric->level_count &&
                                           fabric->levels[all.distance - 1].bytes_per_s > 0);
  all.inside_latency_ns = fabric->intra_latency_ns;
  all.latency_ns = all.distance > 0 ? fabric->inter_latency_ns : fabric->intra_latency_ns;
  if (seen > 0) {
    all.ring_mean_s_per_byte /= (double)seen;
    all.pair_mean_s_per_byte /= (double)seen;
  }
  return all;
}
