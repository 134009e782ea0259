/* Where ranks are: on small machines no placement at all is cheaper than the chosen one, and one
 * node stands for all only where they are alike.   LINK: place base */
#include "tests/unit/check.h"
#include "tests/unit/place_by_rank.h"

static const char cube_mesh[] = "X1122sss"
                                "1X21s2ss"
                                "12X2ss1s"
                                "212Xsss1"
                                "2sssX112"
                                "s2ss1X21"
                                "ss1s12X2"
                                "sss1212X";

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

/* Some ring has direct links alone, and exchanging or moving seats so that each step helps does not
 * lead there. */
static const char scrambled[] = "Xsss111s"
                                "sX1s111s"
                                "s1Xss1s1"
                                "sssX1s1s"
                                "11s1X1ss"
                                "111s1Xss"
                                "11s1ssX1"
                                "ss1sss1X";
static const char scrambled_too[] = "X1sss1s1"
                                    "1Xss1ss1"
                                    "ssX1s1ss"
                                    "ss1X1s11"
                                    "s1s1Xs1s"
                                    "1s1ssXs1"
                                    "sss11sXs"
                                    "11s1s1sX";

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
    {"scrambled links, a ring", scrambled, 1, 8, 1, 8, 1, 1, {0, 8, 0, 0}, 0, 0, 0},
    {"scrambled links, another ring", scrambled_too, 1, 8, 1, 8, 1, 1, {0, 8, 0, 0}, 0, 0, 0},
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
  JobMesh mesh = mesh_of(k->tp, k->cp, k->pp, k->dp);
  Demands demands = demands_of_mesh(arena, &mesh, k->gigabytes);
  Choice choice = place_choose(&fabric, &mesh, &demands, (Wish){NULL, false});
  Ranks r = ranks_of(&fabric, &mesh, &demands);
  int32_t fixed = fabric.kind_count == 1; /* then every slot is like the first */
  double least = least_price(&r, fixed, &demands, 1e30);
  double own = price_of_placement(&r, &mesh, choice.taken, &demands);
  bool is_equal = own > choice.taken_s * (1 - 1e-9) && own < choice.taken_s * (1 + 1e-9);
  CHECK(is_equal);
  CHECK(choice.taken_s <= least * 1.01 && choice.taken_s >= least * (1 - 1e-9));
  if (!is_equal || choice.taken_s > least * 1.01)
    printf("%s: chosen %s %.4g s, by rank %.4g s, least %.4g s\n", k->name,
           order_text(arena, &choice.taken->order), choice.taken_s, own, least);
  arena_free(arena);
}

static Reach reach(const Fabric *fabric, const JobMesh *mesh, MeshAxis axis) {
  const Placement *at = place_in_order(fabric, mesh, &order_usual);
  return place_reach(fabric, at, MESH_BIT(axis), -1);
}

static void test_rails(void) {
  Arena *arena = arena_new();
  TEST("a ring over several nodes has the NICs of all its members on a node") {
    Fabric dgx = plain(arena, 4, 8, 240, 24);
    JobMesh all = mesh_of(1, 1, 1, 32), eight = mesh_of(8, 1, 1, 4), two = mesh_of(2, 1, 1, 16);
    CHECK(reach(&dgx, &all, MESH_DP).ring_bytes_per_s == 192e9);
    CHECK(reach(&dgx, &all, MESH_DP).pair_bytes_per_s == 24e9);
    CHECK(reach(&dgx, &eight, MESH_DP).ring_bytes_per_s == 24e9);
    CHECK(reach(&dgx, &two, MESH_DP).ring_bytes_per_s == 96e9);
    CHECK(reach(&dgx, &eight, MESH_TP).ring_bytes_per_s == 240e9);
  }
  TEST("a ring that leaves a node is not faster than the node inside; what is unknown stays so") {
    Fabric slow = plain(arena, 2, 8, 20, 24), unknown = plain(arena, 2, 8, 240, 0);
    JobMesh all = mesh_of(1, 1, 1, 16);
    CHECK(reach(&slow, &all, MESH_DP).ring_bytes_per_s == 20e9);
    CHECK(reach(&slow, &all, MESH_DP).pair_bytes_per_s == 20e9);
    CHECK(reach(&unknown, &all, MESH_DP).ring_bytes_per_s == 0);
  }
  TEST("a message inside a node has the node's latency, also where the ring leaves the node") {
    Fabric dgx = plain(arena, 2, 8, 240, 24);
    dgx.intra_latency_ns = 300, dgx.inter_latency_ns = 5000;
    JobMesh all = mesh_of(1, 1, 1, 16), eight = mesh_of(8, 1, 1, 2);
    CHECK_INT(reach(&dgx, &all, MESH_DP).latency_ns, 5000);
    CHECK_INT(reach(&dgx, &all, MESH_DP).inside_latency_ns, 300);
    CHECK_INT(reach(&dgx, &eight, MESH_TP).latency_ns, 300);
  }
  TEST("what crosses switches is as narrow as they are") {
    Fabric tree = plain(arena, 8, 4, 200, 20);
    add_level(&tree, "leaf", 2, 0, 2);
    add_level(&tree, "group", 4, 0, 4);
    JobMesh in_leaf = mesh_of(1, 1, 4, 8), all = mesh_of(1, 1, 1, 32);
    CHECK_INT(reach(&tree, &in_leaf, MESH_PP).distance, 0);
    CHECK_INT(reach(&tree, &all, MESH_DP).distance, 3);
    CHECK(reach(&tree, &all, MESH_DP).ring_bytes_per_s == 20e9);
    JobMesh pairs = mesh_of(8, 1, 1, 4);
    CHECK_INT(reach(&tree, &pairs, MESH_TP).distance, 1);
    CHECK(reach(&tree, &pairs, MESH_TP).ring_bytes_per_s == 80e9);
  }
  TEST("rings of a cube mesh carry what its weakest cut does") {
    Fabric mesh = linked(arena, 1, 8, cube_mesh);
    JobMesh all = mesh_of(8, 1, 1, 1), half = mesh_of(4, 1, 1, 2), pair = mesh_of(2, 1, 1, 4);
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
    JobMesh mesh = mesh_of(4, 1, 1, 4);
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
    JobMesh mesh = mesh_of(4, 1, 1, 2);
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
    JobMesh mesh = mesh_of(2, 1, 2, 2);
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
    JobMesh mesh = mesh_of(2, 2, 3, 4);
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

/* The steps of a search are counted, not timed: they must not grow with the number of ranks. */
static void test_work(void) {
  TEST("16,384 ranks under three levels of switches take as many prices as 256") {
    Arena *arena = arena_new();
    const double gigabytes[4] = {8, 2, 1, 4};
    int64_t priced[2], ranks[2] = {256, 16384};
    for (int32_t i = 0; i < 2; i++) {
      Fabric tree = linked(arena, ranks[i] / 8, 8, cube_mesh);
      add_level(&tree, "leaf", 8, 0, 1);
      add_level(&tree, "group", 16, 0, 2);
      JobMesh mesh = mesh_of(4, 2, 4, ranks[i] / 32);
      Demands demands = demands_of_mesh(arena, &mesh, gigabytes);
      Choice choice = place_choose(&tree, &mesh, &demands, (Wish){NULL, false});
      CHECK(choice.orders >= ORDERS_STRAIGHT);
      priced[i] = choice.priced;
    }
    CHECK(priced[0] > 24 && priced[1] < 2 * priced[0]);
    Fabric alike = plain(arena, 2048, 8, 200, 20);
    JobMesh mesh = mesh_of(8, 1, 16, 128);
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
