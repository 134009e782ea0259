/* seat.c -- one rank: where it is, what it has, with which ranks it communicates over which links,
 * and why it is there. */
#include <string.h>

#include "compiler/draft/cost/demand.h"
#include "compiler/show/explain/where.h"
#include "compiler/show/explain/words.h"
#include "runtime/plan/plan_job.h"

enum { TEXT = 9, NEXT_LINES = 11, AXES_WIDTH = 14 };

static void put(FILE *out, const char *head, const char *text) {
  fprintf(out, "%-*s", TEXT, head);
  print_wrapped(out, text, TEXT, NEXT_LINES, SCREEN_COLUMNS);
}

/* ---- where it is */

static const Seat *seat_of(const Compiled *compiled, const RankPlace *place, int32_t *seat) {
  int32_t kind = fabric_kind_of(compiled->fabric, place->node);
  *seat = compiled->choice.taken->seats[kind][place->position];
  const NodeKind *at = &compiled->fabric->kinds[kind];
  return at->seats ? &at->seats[*seat] : NULL;
}

static const char *node_text(const Compiled *compiled, const RankPlace *place) {
  const Fabric *fabric = compiled->fabric;
  const char *host = fabric->hosts ? fabric->hosts[place->node] : NULL;
  Arena *arena = compiled->draft->compile->arena;
  return arena_printf(arena, "%u of %lld%s%s, %s", place->node, (long long)fabric->node_count,
                      host ? ", " : "", host ? host : "",
                      plan_string(&compiled->plan, place->run->kind));
}

static const char *device_text(const Compiled *compiled, const RankPlace *place) {
  Arena *arena = compiled->draft->compile->arena;
  bool is_cpu = job_target(&compiled->plan) == TARGET_CPU;
  const char *text =
      is_cpu ? "the node's processor"
             : arena_printf(arena, "GPU %u, %s", place_device(place), compiled->cluster.device);
  if (!place->seat) return text;
  if (!is_cpu)
    text = arena_printf(arena, "%s, %s", text, plan_string(&compiled->plan, place->seat->pci));
  return place->seat->numa == PLAN_NONE
             ? text
             : arena_printf(arena, "%s, NUMA node %u", text, place->seat->numa);
}

static const char *cores_text(const Compiled *compiled, const RankPlace *place) {
  Arena *arena = compiled->draft->compile->arena;
  if (place->seat) {
    const char *cores = plan_string(&compiled->plan, place->seat->cores);
    return *cores ? cores : "any: the node's description has none";
  }
  int64_t shared = where_shared_cores(compiled, place->run);
  if (shared > 0)
    return arena_printf(arena, "any of %lld, which all ranks of the node share", (long long)shared);
  uint32_t count = place->run->core_count, first = place->run->core_first + place->position * count;
  if (count == 1) return arena_printf(arena, "%u", first);
  return arena_printf(arena, "%u-%u", first, first + count - 1);
}

static const char *nic_text(const Compiled *compiled, const RankPlace *place) {
  Arena *arena = compiled->draft->compile->arena;
  int32_t number;
  const Seat *seat = seat_of(compiled, place, &number);
  const NodeKind *kind = &compiled->fabric->kinds[fabric_kind_of(compiled->fabric, place->node)];
  double rate = seat ? seat->network_bytes_per_s : kind->network_bytes_per_s;
  const char *share =
      rate > 0 ? arena_printf(arena, "%.1f GB/s its share", rate * 1e-9) : "its rate is not known";
  if (!seat) return arena_printf(arena, "not described; %s", share);
  int32_t rails = rail_count(seat->rails);
  if (!seat->nic) return arena_printf(arena, "none is described; %s", share);
  return arena_printf(arena, "%s, %s, %s%s", seat->nic, link_class_name(seat->nic_class), share,
                      rails > 1 ? arena_printf(arena, " of %d equally near", rails) : "");
}

static const char *coordinates_text(const Compiled *compiled, uint32_t rank) {
  Arena *arena = compiled->draft->compile->arena;
  RankWhere where = where_is(&compiled->plan, rank);
  const char *text = "";
  for (int32_t w = 0; w < ORDER_WORDS; w++)
    text = arena_printf(arena, "%s%s%s %u of %lld", text, w > 0 ? ", " : "", where_names[w],
                        where.at[w], (long long)where_size(compiled, w));
  return text;
}

/* ---- what it has */

/* "embed, h 0-3": the layers of all chunks of its stage. */
static const char *layers_text(const Compiled *compiled, uint32_t stage) {
  const Draft *d = compiled->draft;
  Arena *arena = d->compile->arena;
  const char *text = "";
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    int32_t c = draft_chunk(d, (int32_t)stage, k);
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1];) {
      const LayerUse *first = &d->chain[u];
      const Region *region = &d->train->regions.at[first->region];
      while (u + 1 < d->chunk_first[c + 1] && d->chain[u + 1].region == first->region)
        u++;
      const LayerUse *last = &d->chain[u++];
      text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", region->name);
      if (!region->is_stack) continue;
      text = arena_printf(arena, "%s %lld", text, (long long)first->layer);
      if (last != first) text = arena_printf(arena, "%s-%lld", text, (long long)last->layer);
    }
  }
  return text;
}

static const char *memory_text(const Compiled *compiled, uint32_t class, Tier tier) {
  Arena *arena = compiled->draft->compile->arena;
  TierPeak peak = find_peak_in(compiled, class, tier);
  const char *text = arena_printf(arena, "%s:", bytes_text(compiled, peak.arena_bytes));
  bool is_first = true;
  for (size_t r = 0; r < MEMORY_ROWS; r++) {
    int64_t size_bytes = peak.by_kind[memory_rows[r].kind];
    if (size_bytes == 0) continue;
    text = arena_printf(arena, "%s%s %s %s", text, is_first ? "" : ",", memory_rows[r].name,
                        bytes_text(compiled, size_bytes));
    is_first = false;
  }
  return text;
}

/* ---- with which ranks it communicates */

typedef struct Members {
  VEC(uint32_t) ranks;
} Members;

static Members members_of(const Compiled *compiled, uint32_t rank, uint32_t axes) {
  const Plan *plan = &compiled->plan;
  Members members = {0};
  for (uint32_t other = 0; other < (uint32_t)rank_count(compiled); other++) {
    bool is_member = true;
    for (uint32_t axis = 0; axis < MESH_AXES; axis++)
      is_member &= (axes >> axis & 1u) != 0 ||
                   plan_coordinate(plan, rank, axis) == plan_coordinate(plan, other, axis);
    if (is_member) VEC_PUSH(compiled->draft->compile->arena, &members.ranks, other);
  }
  return members;
}

/* "0-7", "0 8 16", "0 8 .. 504 (64)" */
static const char *members_text(Arena *arena, const Members *members) {
  enum { LISTED_MOST = 4 };
  int32_t count = members->ranks.count;
  const uint32_t *at = members->ranks.at;
  if (count == 0) return "nobody"; /* the rank itself is a member */
  if (at[count - 1] - at[0] + 1 == (uint32_t)count)
    return arena_printf(arena, "%u-%u", at[0], at[count - 1]);
  if (count > LISTED_MOST)
    return arena_printf(arena, "%u %u .. %u (%d)", at[0], at[1], at[count - 1], count);
  const char *text = "";
  for (int32_t i = 0; i < count; i++)
    text = arena_printf(arena, "%s%s%u", text, i > 0 ? " " : "", at[i]);
  return text;
}

static const char *axes_text(Arena *arena, uint32_t axes) {
  const char *text = "";
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    if (axes >> axis & 1u)
      text = arena_printf(arena, "%s%s%s", text, *text ? "+" : "", mesh_axis_name((MeshAxis)axis));
  return text;
}

/* The link between members on the rank's node: the class that rings use, or the slowest. */
static const char *inside_text(const Compiled *compiled, const RankPlace *place,
                               const Members *members, bool is_slow) {
  int32_t k = fabric_kind_of(compiled->fabric, place->node), seats[SEATS_MOST], count = 0;
  const NodeKind *kind = &compiled->fabric->kinds[k];
  if (!kind->pairs) return "the node's links";
  for (int32_t i = 0; i < members->ranks.count; i++) {
    RankPlace other = plan_place(&compiled->plan, members->ranks.at[i]);
    if (other.node == place->node)
      seats[count++] = compiled->choice.taken->seats[k][other.position];
  }
  LinkClass found = is_slow ? LINK_SELF : LINK_SYS;
  for (int32_t i = 0; i < count; i++)
    for (int32_t j = 0; j < count; j++) {
      LinkClass class = kind->pairs[seats[i] * kind->seat_count + seats[j]].link_class;
      if (i != j && (is_slow ? class > found : class < found)) found = class;
    }
  return link_class_name(found);
}

static const char *path_text(const Compiled *compiled, const RankPlace *place,
                             const Members *members, const Reach *reach) {
  const Fabric *fabric = compiled->fabric;
  Arena *arena = compiled->draft->compile->arena;
  if (reach->distance == 0) return inside_text(compiled, place, members, reach->is_slow_inside);
  if (reach->distance == 1 && fabric->level_count > 0)
    return arena_printf(arena, "one %s", fabric->levels[0].name);
  if (reach->distance > 1)
    return arena_printf(arena, "several %ss", fabric->levels[reach->distance - 2].name);
  return "the network";
}

static const char *rate_text(Arena *arena, double bytes_per_s) {
  return bytes_per_s > 0 ? arena_printf(arena, "%.1f", bytes_per_s * 1e-9) : "?";
}

static void print_talks(const Compiled *compiled, uint32_t rank, FILE *out) {
  Arena *arena = compiled->draft->compile->arena;
  uint32_t stage = plan_coordinate(&compiled->plan, rank, MESH_PP);
  RankPlace place = plan_place(&compiled->plan, rank);
  Demands demands = demands_of(arena, &compiled->plan);
  int32_t rows = 0;
  for (int32_t i = 0; i < demands.count; i++) {
    const Demand *demand = &demands.at[i];
    if (demand->stage != (int32_t)stage || demand->ring_bytes + demand->pair_bytes <= 0) continue;
    Members members = members_of(compiled, rank, demand->axes);
    Reach reach =
        place_reach(compiled->fabric, compiled->choice.taken, demand->axes, (int32_t)stage);
    bool is_ring = demand->ring_bytes > 0;
    if (rows++ == 0)
      fprintf(out, "\n%-*s %-19s %-20s %12s %10s\n", AXES_WIDTH, "talks along", "with ranks",
              "over", "GB/s one way", "sent a step");
    const char *axes = axes_text(arena, demand->axes);
    bool is_long = strlen(axes) > AXES_WIDTH; /* printed on a separate line */
    if (is_long) fprintf(out, "%s\n", axes);
    fprintf(out, "%-*s %-19s %-20s %12s %10s\n", AXES_WIDTH, is_long ? "" : axes,
            members_text(arena, &members), path_text(compiled, &place, &members, &reach),
            rate_text(arena, is_ring ? reach.ring_bytes_per_s : reach.pair_bytes_per_s),
            bytes_text(compiled, (int64_t)class_traffic(compiled, stage, demand->axes).sent_bytes));
    if (is_ring && reach.rails > 1)
      fprintf(out, "%-35sa ring over %d rail%s of a node\n", "", reach.rails, plural(reach.rails));
  }
  if (rows == 0) fputs("\nit talks to no other rank\n", out);
}

void explain_seat(const Compiled *compiled, int64_t rank, FILE *out) {
  Arena *arena = compiled->draft->compile->arena;
  RankPlace place = plan_place(&compiled->plan, (uint32_t)rank);
  uint32_t stage = plan_coordinate(&compiled->plan, (uint32_t)rank, MESH_PP);
  put(out, "rank",
      arena_printf(arena, "%lld of %s", (long long)rank,
                   count_text(compiled, rank_count(compiled))));
  put(out, "node", node_text(compiled, &place));
  put(out, "device", device_text(compiled, &place));
  put(out, "cores", cores_text(compiled, &place));
  if (compiled->fabric->node_count > 1) put(out, "NIC", nic_text(compiled, &place));
  put(out, "is", coordinates_text(compiled, (uint32_t)rank));
  put(out, "layers", layers_text(compiled, stage));
  put(out, "memory", memory_text(compiled, stage, TIER_DEVICE));
  const bool offloads = draft_offloads(compiled->draft);
  if (offloads) put(out, "host", memory_text(compiled, stage, TIER_HOST));
  if (offloads && plan_tier(&compiled->plan, TIER_FILE) != PLAN_NONE)
    put(out, "file", memory_text(compiled, stage, TIER_FILE));
  print_talks(compiled, (uint32_t)rank, out);
  fputc('\n', out);
  explain_order(compiled, out);
}
