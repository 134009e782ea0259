/* Where ranks are: on small machines no placement at all is cheaper than the chosen one, and one
 * node stands for all only where they are alike.   LINK: place base */
#include <string.h>

#include "compiler/place/place.h"
#include "compiler/place/rate.h"
#include "tests/unit/check.h"

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

static const char cube_mesh[] = "X1122sss"
                                "1X21s2ss"
                                "12X2ss1s"
                                "212Xsss1"
                                "2sssX112"
                                "s2ss1X21"
                                "ss1s12X2"
                                "sss1212X";

static void add_level(Fabric *fabric, const char *name, int64_t nodes, double fast, double taper) {
  fabric->levels[fabric->level_count++] =
      (Level){.name = name, .unit_nodes = nodes, .bytes_per_s = fast * giga, .taper = taper};
}

/* Behind all nodes, one of another kind. */
static void add_kind(Fabric *fabric, int32_t seats, double intra, double network) {
  NodeKind *kinds = ARENA_ARRAY(fabric->arena, NodeKind, 2);
  NodeRun *runs = ARENA_ARRAY(fabric->arena, NodeRun, 2);
  kinds[0] = fabric->kinds[0];
  kinds[1] = (NodeKind){.name = "other",
                        .seat_count = seats,
                        .intra_bytes_per_s = intra * giga,
                        .network_bytes_per_s = network * giga};
  runs[1] = (NodeRun){fabric->node_count, fabric->slot_count, 1};
  fabric->kinds = kinds, fabric->kind_count = 2;
  fabric->runs = runs, fabric->run_count = 2;
  fabric->node_count++;
  fabric->slot_count += seats;
}

/* ---- the price of any placement: each rank's slot, rank by rank */

typedef struct Ranks {
  const Fabric *fabric;
  const Mesh *mesh;
  int32_t count, slot[RANKS_MOST];
  RateMemo *memo[KINDS_MOST];
} Ranks;

static int32_t coordinate(const Mesh *mesh, int32_t axis, int32_t rank) {
  for (int32_t a = MESH_AXES - 1; a > axis; a--)
    rank /= (int32_t)mesh->size[a];
  return rank % (int32_t)mesh->size[axis];
}

static bool is_together(const Mesh *mesh, uint32_t axes, int32_t a, int32_t b) {
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    if ((axes >> axis & 1u) == 0 && coordinate(mesh, axis, a) != coordinate(mesh, axis, b))
      return false;
  return true;
}

typedef struct Rates {
  double ring, pair;
} Rates;

static int64_t node_of(const Ranks *r, int32_t rank) {
  return fabric_node_of_slot(r->fabric, r->slot[rank]);
}

/* Of the communicator's members on one node. */
static NodeRate inside_rate(const Ranks *r, const int32_t *members, int32_t count, int64_t node,
                            int32_t *found) {
  int32_t seats[RANKS_MOST], n = 0;
  for (int32_t i = 0; i < count; i++)
    if (node_of(r, members[i]) == node)
      seats[n++] = (int32_t)(r->slot[members[i]] - fabric_first_slot(r->fabric, node));
  *found = n;
  if (n < 2) return (NodeRate){0};
  int32_t kind = fabric_kind_of(r->fabric, node);
  return rate_of_seats(&r->fabric->kinds[kind], r->memo[kind], seats, n);
}

static int32_t members_of(const Ranks *r, uint32_t axes, int32_t rank, int32_t *members) {
  int32_t count = 0;
  for (int32_t other = 0; other < r->count; other++)
    if (is_together(r->mesh, axes, rank, other)) members[count++] = other;
  return count;
}

/* How many communicators of the mask pass between the sockets of a node. */
static int32_t sharers(const Ranks *r, uint32_t axes, int64_t node, int32_t stage) {
  int32_t count = 0, members[RANKS_MOST], found;
  for (int32_t rank = 0; rank < r->count; rank++) {
    bool is_other = !(axes >> MESH_PP & 1u) && coordinate(r->mesh, MESH_PP, rank) != stage;
    int32_t n = members_of(r, axes, rank, members);
    bool is_first = true;
    for (int32_t i = 0; i < n && members[i] != rank; i++)
      is_first &= node_of(r, members[i]) != node;
    if (is_other || !is_first || node_of(r, rank) != node) continue;
    count += inside_rate(r, members, n, node, &found).is_between_sockets;
  }
  return count > 1 ? count : 1;
}

static Rates rates_of(const Ranks *r, uint32_t axes, int32_t rank, int32_t stage) {
  int32_t members[RANKS_MOST], count = members_of(r, axes, rank, members), farthest = 0;
  Rates rates = {1e30, 1e30};
  for (int32_t i = 0; i < count; i++)
    for (int32_t j = 0; j < count; j++) {
      int32_t d = fabric_distance(r->fabric, node_of(r, members[i]), node_of(r, members[j]));
      if (d > farthest) farthest = d;
    }
  for (int32_t i = 0; i < count; i++) {
    int32_t found;
    int64_t node = node_of(r, members[i]);
    NodeRate inside = inside_rate(r, members, count, node, &found);
    const NodeKind *kind = &r->fabric->kinds[fabric_kind_of(r->fabric, node)];
    double ring = inside.ring_bytes_per_s, share = kind->network_bytes_per_s;
    if (inside.is_between_sockets) ring /= sharers(r, axes, node, stage);
    if (found > 1 && ring < rates.ring) rates.ring = ring;
    if (found > 1 && inside.pair_bytes_per_s < rates.pair) rates.pair = inside.pair_bytes_per_s;
    if (found == count) continue;
    const Level *level = farthest > 1 ? &r->fabric->levels[farthest - 2] : NULL;
    bool is_fast = farthest == 1 && r->fabric->level_count && r->fabric->levels[0].bytes_per_s > 0;
    double taper = level ? level->taper : 1;
    double out = is_fast ? r->fabric->levels[0].bytes_per_s : found * share / taper;
    double one = is_fast ? r->fabric->levels[0].bytes_per_s : share / taper;
    if (out < rates.ring) rates.ring = out;
    if (one < rates.pair) rates.pair = one;
  }
  return rates;
}

static double price(const Ranks *r, const Demands *demands) {
  double longest = 0;
  for (int32_t stage = 0; stage < demands->stages; stage++) {
    double seconds = 0;
    for (int32_t i = 0; i < demands->count; i++) {
      const Demand *d = &demands->at[i];
      if (d->stage != stage) continue;
      Rates slowest = {1e30, 1e30};
      for (int32_t rank = 0; rank < r->count; rank++) {
        if (!(d->axes >> MESH_PP & 1u) && coordinate(r->mesh, MESH_PP, rank) != stage) continue;
        Rates rates = rates_of(r, d->axes, rank, stage);
        if (rates.ring < slowest.ring) slowest.ring = rates.ring;
        if (rates.pair < slowest.pair) slowest.pair = rates.pair;
      }
      seconds += d->ring_bytes / slowest.ring + d->pair_bytes / slowest.pair;
    }
    if (seconds > longest) longest = seconds;
  }
  return longest;
}

static double price_of_placement(const Fabric *fabric, const Mesh *mesh, const Placement *at,
                                 const Demands *demands) {
  Ranks r = {.fabric = fabric, .mesh = mesh, .count = (int32_t)fabric->slot_count};
  for (int32_t rank = 0; rank < r.count; rank++) {
    int64_t slot = 0;
    for (int32_t i = 0; i < at->digit_count; i++) {
      const Digit *d = &at->digit[i];
      slot += coordinate(mesh, d->axis, rank) / d->weight % d->size * d->stride;
    }
    int64_t node = fabric_node_of_slot(fabric, slot), first = fabric_first_slot(fabric, node);
    r.slot[rank] = (int32_t)(first + at->seats[fabric_kind_of(fabric, node)][slot - first]);
  }
  return price(&r, demands);
}

/* The least price of all ways to give ranks from `from` on the slots that are left. */
static double least_price(Ranks *r, int32_t from, const Demands *demands) {
  if (from == r->count) return price(r, demands);
  double least = 1e30;
  for (int32_t i = from; i < r->count; i++) {
    int32_t kept = r->slot[from];
    r->slot[from] = r->slot[i], r->slot[i] = kept;
    double seconds = least_price(r, from + 1, demands);
    if (seconds < least) least = seconds;
    kept = r->slot[from];
    r->slot[from] = r->slot[i], r->slot[i] = kept;
  }
  return least;
}

static Mesh mesh_of(int64_t tp, int64_t cp, int64_t pp, int64_t dp) {
  Mesh mesh = {{1, dp, pp, cp, tp, 1}};
  return mesh;
}

/* Along every axis, GB of a step: rings of tp and dp, pairs of cp and pp. */
static Demands demands_of_mesh(Arena *arena, const Mesh *mesh, const double gigabytes[4]) {
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

/* ---- tests */

typedef struct Case {
  const char *name;
  const char *links; /* NULL: all pairs alike */
  int64_t nodes, seats, tp, cp, pp, dp;
  double gigabytes[4]; /* tp cp pp dp */
  double block;        /* rate of a fast domain of two nodes; 0: none */
  double taper;        /* of leaf switches with two nodes; 0: none */
  int32_t other_seats; /* of a last node of another kind; 0: none */
} Case;

static const char pcie[] = "X---ssss"
                           "-X--ssss"
                           "--X-ssss"
                           "---Xssss"
                           "ssssX---"
                           "ssss-X--"
                           "ssss--X-"
                           "ssss---X";

static const Case cases[] = {
    {"tp in nodes", NULL, 2, 4, 4, 1, 1, 2, {8, 0, 0, 1}, 0, 0, 0},
    {"pp across", NULL, 2, 4, 2, 1, 2, 2, {8, 0, 1, 4}, 0, 0, 0},
    {"dp across", NULL, 2, 4, 2, 1, 2, 2, {8, 0, 9, 1}, 0, 0, 0},
    {"cp in nodes", NULL, 2, 4, 2, 2, 1, 2, {8, 6, 0, 1}, 0, 0, 0},
    {"three axes of two nodes", NULL, 4, 2, 2, 2, 2, 1, {8, 2, 1, 0}, 0, 0, 0},
    {"pairs of a node", "X4ss4XssssX4ss4X", 2, 4, 2, 1, 1, 4, {8, 0, 0, 1}, 0, 0, 0},
    {"pairs that are not neighbours", "Xs4ssXs44sXss4sX", 1, 4, 2, 1, 1, 2, {8, 0, 0, 1}, 0, 0, 0},
    {"pairs, pipeline", "Xs4ssXs44sXss4sX", 2, 4, 2, 1, 2, 2, {8, 0, 1, 3}, 0, 0, 0},
    {"cube mesh, tp 2", cube_mesh, 1, 8, 2, 1, 1, 4, {8, 0, 0, 2}, 0, 0, 0},
    {"cube mesh, tp 4", cube_mesh, 1, 8, 4, 1, 1, 2, {8, 0, 0, 2}, 0, 0, 0},
    {"cube mesh, pp 2", cube_mesh, 1, 8, 2, 1, 2, 2, {8, 0, 1, 2}, 0, 0, 0},
    {"PCIe of two sockets", "X-ss-XssssX-ss-X", 2, 4, 2, 1, 1, 4, {4, 0, 0, 2}, 0, 0, 0},
    {"blocks of two nodes", NULL, 4, 2, 4, 1, 1, 2, {8, 0, 0, 1}, 200, 0, 0},
    {"far pairs, cp 4", "Xs4ssXs44sXss4sX", 2, 4, 1, 4, 1, 2, {0, 4, 0, 4}, 0, 0, 0},
    {"pairs, cp and dp", "X4ss4XssssX4ss4X", 2, 4, 1, 2, 2, 2, {0, 6, 1, 2}, 0, 0, 0},
    {"cube mesh, cp", cube_mesh, 1, 8, 2, 2, 1, 2, {8, 2, 0, 4}, 0, 0, 0},
    {"cube mesh, stages", cube_mesh, 1, 8, 1, 1, 4, 2, {0, 0, 1, 4}, 0, 0, 0},
    {"PCIe, tp 2", pcie, 1, 8, 2, 1, 1, 4, {8, 0, 0, 4}, 0, 0, 0},
    {"PCIe, pp 2", pcie, 1, 8, 2, 1, 2, 2, {4, 0, 4, 4}, 0, 0, 0},
    {"blocks, dp in halves", NULL, 4, 2, 2, 1, 1, 4, {8, 0, 0, 4}, 200, 0, 0},
    {"blocks, stages", NULL, 4, 2, 1, 1, 2, 4, {0, 0, 4, 4}, 200, 0, 0},
    {"blocks, tp in halves", NULL, 4, 2, 4, 1, 1, 2, {4, 0, 0, 4}, 200, 0, 0},
    {"tree, dp in halves", NULL, 4, 2, 2, 1, 1, 4, {4, 0, 0, 4}, 0, 3, 0},
    {"tree, tp in halves", NULL, 4, 2, 4, 1, 1, 2, {4, 0, 0, 4}, 0, 3, 0},
    {"tree, stages", NULL, 4, 2, 1, 1, 2, 4, {0, 0, 4, 4}, 0, 3, 0},
    {"four ranks", NULL, 2, 2, 2, 1, 2, 1, {8, 0, 1, 0}, 0, 0, 0},
    {"five ranks", NULL, 1, 5, 1, 5, 1, 1, {0, 4, 0, 0}, 0, 0, 0},
    {"three nodes of two", NULL, 3, 2, 2, 1, 3, 1, {8, 0, 1, 0}, 0, 0, 0},
    {"two kinds, tp 2", NULL, 1, 4, 2, 1, 1, 3, {8, 0, 0, 4}, 0, 0, 2},
    {"two kinds, stages", NULL, 1, 4, 2, 1, 3, 1, {4, 0, 4, 0}, 0, 0, 2},
    {"two kinds, pairs", "X4ss4XssssX4ss4X", 1, 4, 2, 1, 1, 3, {8, 0, 0, 2}, 0, 0, 2},
    {"two kinds of an odd number", NULL, 1, 4, 1, 1, 1, 7, {0, 0, 0, 2}, 0, 0, 3},
};

static Fabric fabric_of(Arena *arena, const Case *k) {
  Fabric fabric = k->links ? linked(arena, k->nodes, (int32_t)k->seats, k->links)
                           : plain(arena, k->nodes, (int32_t)k->seats, 200, 20);
  if (k->block > 0) add_level(&fabric, "block", 2, k->block, 1);
  if (k->taper > 0) add_level(&fabric, "leaf", 2, 0, k->taper);
  if (k->other_seats > 0) add_kind(&fabric, k->other_seats, 50, 10);
  return fabric;
}

static void check_case(const Case *k) {
  Arena *arena = arena_new();
  Fabric fabric = fabric_of(arena, k);
  Mesh mesh = mesh_of(k->tp, k->cp, k->pp, k->dp);
  Demands demands = demands_of_mesh(arena, &mesh, k->gigabytes);
  Choice choice = place_choose(&fabric, &mesh, &demands, (Wish){NULL, false});
  Ranks r = {.fabric = &fabric, .mesh = &mesh, .count = (int32_t)fabric.slot_count};
  for (int32_t i = 0; i < fabric.kind_count; i++)
    r.memo[i] = rate_memo(arena);
  for (int32_t i = 0; i < r.count; i++)
    r.slot[i] = i;
  int32_t fixed = fabric.kind_count == 1; /* then every slot is like the first */
  double least = least_price(&r, fixed, &demands);
  double own = price_of_placement(&fabric, &mesh, choice.taken, &demands);
  bool is_equal = own > choice.taken_s * (1 - 1e-9) && own < choice.taken_s * (1 + 1e-9);
  CHECK(is_equal);
  CHECK(choice.taken_s <= least * 1.01 && choice.taken_s >= least * (1 - 1e-9));
  if (!is_equal || choice.taken_s > least * 1.01)
    printf("%s: chosen %s %.4g s, by rank %.4g s, least %.4g s\n", k->name,
           order_text(arena, &choice.taken->order), choice.taken_s, own, least);
  arena_free(arena);
}

static Reach reach(const Fabric *fabric, const Mesh *mesh, MeshAxis axis) {
  const Placement *at = place_in_order(fabric, mesh, &order_usual);
  return place_reach(fabric, at, MESH_BIT(axis), -1);
}

static void test_rails(void) {
  Arena *arena = arena_new();
  TEST("a ring over several nodes has the NICs of all its members on a node") {
    Fabric dgx = plain(arena, 4, 8, 240, 24);
    Mesh all = mesh_of(1, 1, 1, 32), eight = mesh_of(8, 1, 1, 4), two = mesh_of(2, 1, 1, 16);
    CHECK(reach(&dgx, &all, MESH_DP).ring_bytes_per_s == 192e9);
    CHECK(reach(&dgx, &all, MESH_DP).pair_bytes_per_s == 24e9);
    CHECK(reach(&dgx, &eight, MESH_DP).ring_bytes_per_s == 24e9);
    CHECK(reach(&dgx, &two, MESH_DP).ring_bytes_per_s == 96e9);
    CHECK(reach(&dgx, &eight, MESH_TP).ring_bytes_per_s == 240e9);
  }
  TEST("a ring that leaves a node is not faster than the node inside; what is unknown stays so") {
    Fabric slow = plain(arena, 2, 8, 20, 24), unknown = plain(arena, 2, 8, 240, 0);
    Mesh all = mesh_of(1, 1, 1, 16);
    CHECK(reach(&slow, &all, MESH_DP).ring_bytes_per_s == 20e9);
    CHECK(reach(&slow, &all, MESH_DP).pair_bytes_per_s == 20e9);
    CHECK(reach(&unknown, &all, MESH_DP).ring_bytes_per_s == 0);
  }
  TEST("what crosses switches is as narrow as they are") {
    Fabric tree = plain(arena, 8, 4, 200, 20);
    add_level(&tree, "leaf", 2, 0, 2);
    add_level(&tree, "group", 4, 0, 4);
    Mesh in_leaf = mesh_of(1, 1, 4, 8), all = mesh_of(1, 1, 1, 32);
    CHECK_INT(reach(&tree, &in_leaf, MESH_PP).distance, 0);
    CHECK_INT(reach(&tree, &all, MESH_DP).distance, 3);
    CHECK(reach(&tree, &all, MESH_DP).ring_bytes_per_s == 20e9);
    Mesh pairs = mesh_of(8, 1, 1, 4);
    CHECK_INT(reach(&tree, &pairs, MESH_TP).distance, 1);
    CHECK(reach(&tree, &pairs, MESH_TP).ring_bytes_per_s == 80e9);
  }
  TEST("rings of a cube mesh carry what its weakest cut does") {
    Fabric mesh = linked(arena, 1, 8, cube_mesh);
    Mesh all = mesh_of(8, 1, 1, 1), half = mesh_of(4, 1, 1, 2), pair = mesh_of(2, 1, 1, 4);
    CHECK(reach(&mesh, &all, MESH_TP).ring_bytes_per_s == 150e9);
    CHECK(reach(&mesh, &half, MESH_TP).ring_bytes_per_s == 100e9);
    CHECK(reach(&mesh, &pair, MESH_TP).ring_bytes_per_s == 25e9);
  }
  arena_free(arena);
}

static void test_orders(void) {
  Arena *arena = arena_new();
  Order order;
  TEST("an order names tp, cp, pp and dp once each") {
    CHECK(order_parse(" dp tp  cp pp", &order) && order.term[0].word == ORDER_DP);
    CHECK(strcmp(order_text(arena, &order), "dp tp cp pp") == 0);
    CHECK(!order_parse("tp cp pp", &order) && !order_parse("tp cp pp dp dp", &order));
    CHECK(!order_parse("tp cp pp pp", &order) && !order_parse("tp cp pp ddp", &order));
    CHECK(order_parse("dp*2 tp cp pp*4 dp pp", &order) && order.count == 6);
    CHECK(strcmp(order_text(arena, &order), "dp*2 tp cp pp*4 dp pp") == 0);
    static const char *const wrong[] = {
        "dp*2 tp cp pp",     "dp*2 dp*2 dp tp cp pp", "dp dp*2 tp cp pp",
        "dp*1 tp cp pp dp",  "dp*0 tp cp pp dp",      "dp* tp cp pp dp",
        "dp*-2 tp cp pp dp", "dp*2x tp cp pp dp",     "dp*9999999 tp cp pp dp"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
      CHECK(!order_parse(wrong[i], &order));
  }
  TEST("parts of an axis are digits of its coordinate") {
    Fabric fabric = plain(arena, 4, 4, 200, 20);
    Mesh mesh = mesh_of(4, 1, 1, 4);
    CHECK(order_parse("dp*2 tp*2 dp tp cp pp", &order));
    const Placement *at = place_in_order(&fabric, &mesh, &order);
    CHECK_INT(at->digit_count, 4);
    CHECK(at->digit[2].axis == MESH_DP && at->digit[2].weight == 2 && at->digit[2].stride == 4);
    CHECK(order_parse("dp*3 tp dp cp pp", &order) && !place_in_order(&fabric, &mesh, &order));
    CHECK(order_parse("dp*8 tp dp cp pp", &order) && !place_in_order(&fabric, &mesh, &order));
    CHECK(order_parse("tp*2 tp cp pp dp", &order));
    CHECK_INT(place_in_order(&fabric, &mesh, &order)->digit_count, 2);
  }
  TEST("the user's order is taken, and the best one's price is known") {
    Fabric fabric = plain(arena, 2, 4, 200, 20);
    Mesh mesh = mesh_of(4, 1, 1, 2);
    const double gigabytes[4] = {8, 0, 0, 1};
    Demands demands = demands_of_mesh(arena, &mesh, gigabytes);
    CHECK(order_parse("dp tp cp pp", &order));
    Choice asked = place_choose(&fabric, &mesh, &demands, (Wish){&order, false});
    Choice free_choice = place_choose(&fabric, &mesh, &demands, (Wish){NULL, false});
    CHECK_INT(asked.taken->digit[0].axis, MESH_DP);
    CHECK(asked.best_s == free_choice.taken_s && asked.taken_s > 2 * asked.best_s);
    CHECK_INT(asked.orders, 3); /* tp dp, dp tp, tp*2 dp tp */
    CHECK(asked.order[asked.taken_order].seconds == asked.taken_s);
    CHECK(asked.order[0].seconds == asked.best_s && asked.taken_order == 1);
  }
  TEST("without rates the usual order is taken") {
    Fabric fabric = plain(arena, 2, 4, 0, 0);
    Mesh mesh = mesh_of(2, 1, 2, 2);
    const double gigabytes[4] = {1, 0, 9, 1};
    Demands demands = demands_of_mesh(arena, &mesh, gigabytes);
    Choice choice = place_choose(&fabric, &mesh, &demands, (Wish){NULL, false});
    CHECK_INT(choice.taken->digit[1].axis, MESH_PP);
    CHECK(choice.taken_s == 0);
  }
  arena_free(arena);
}

/* The same nodes once by number, once each by itself. */
static void test_even(void) {
  TEST("one node stands for all nodes of a kind") {
    Arena *arena = arena_new();
    Fabric even = linked(arena, 6, 8, cube_mesh), listed = even;
    NodeRun *runs = ARENA_ARRAY(arena, NodeRun, 6);
    NodeKind *kinds = ARENA_ARRAY(arena, NodeKind, 2);
    for (int32_t n = 0; n < 6; n++)
      runs[n] = (NodeRun){n, 8 * n, n % 2};
    kinds[0] = kinds[1] = *even.kinds;
    listed.runs = runs, listed.run_count = 6, listed.kinds = kinds, listed.kind_count = 2;
    add_level(&even, "leaf", 2, 0, 3);
    add_level(&listed, "leaf", 2, 0, 3);
    Mesh mesh = mesh_of(2, 2, 3, 4);
    Order order = order_usual;
    for (int32_t i = 0; i < 4; i++) {
      OrderTerm first = order.term[0];
      memmove(order.term, order.term + 1, 3 * sizeof first);
      order.term[3] = first;
      const Placement *a = place_in_order(&even, &mesh, &order);
      const Placement *b = place_in_order(&listed, &mesh, &order);
      for (uint32_t axes = 1; axes < MASKS; axes++)
        for (int32_t stage = -1; stage < 3; stage++) {
          Reach x = place_reach(&even, a, axes, stage), y = place_reach(&listed, b, axes, stage);
          CHECK(x.ring_bytes_per_s == y.ring_bytes_per_s && x.distance == y.distance);
          CHECK(x.pair_bytes_per_s == y.pair_bytes_per_s && x.node_members == y.node_members);
        }
    }
    arena_free(arena);
  }
}

/* What a search does is counted, not timed: it must not follow the number of ranks. */
static void test_work(void) {
  TEST("16,384 ranks under three levels of switches take as many prices as 256") {
    Arena *arena = arena_new();
    const double gigabytes[4] = {8, 2, 1, 4};
    int64_t priced[2], ranks[2] = {256, 16384};
    for (int32_t i = 0; i < 2; i++) {
      Fabric tree = linked(arena, ranks[i] / 8, 8, cube_mesh);
      add_level(&tree, "leaf", 8, 0, 1);
      add_level(&tree, "group", 16, 0, 2);
      Mesh mesh = mesh_of(4, 2, 4, ranks[i] / 32);
      Demands demands = demands_of_mesh(arena, &mesh, gigabytes);
      Choice choice = place_choose(&tree, &mesh, &demands, (Wish){NULL, false});
      CHECK_INT(choice.orders, ORDERS_MOST);
      priced[i] = choice.priced;
    }
    CHECK(priced[0] > 24 && priced[1] < 2 * priced[0]);
    Fabric alike = plain(arena, 2048, 8, 200, 20);
    Mesh mesh = mesh_of(8, 1, 16, 128);
    Demands demands = demands_of_mesh(arena, &mesh, gigabytes);
    CHECK_INT(place_choose(&alike, &mesh, &demands, (Wish){NULL, false}).priced, 63);
    arena_free(arena);
  }
}

int main(void) {
  TEST("no placement is cheaper than the chosen one") {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      check_case(&cases[i]);
  }
  test_rails();
  test_orders();
  test_even();
  test_work();
  CHECK_DONE();
}
