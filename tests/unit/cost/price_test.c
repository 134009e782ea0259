/* Tests the times of collectives: NCCL's tuner takes the fastest of rings, trees, sums in switches
 * and PAT.
 * LINK: cost base */
#include "compiler/plan/simulate/price.h"
#include "tests/unit/check.h"

static Traffic traffic(RecordKind kind, double members, double bytes) {
  return (Traffic){
      .kind = kind, .members = members, .largest_bytes = bytes, .calls = 1, .has_library = true};
}

int main(void) {
  const PlanLink node = {
      .bytes_per_s = 360e9, .pair_bytes_per_s = 360e9, .latency_ns = 470, .ways = 764};
  PlanLink rings = node;
  rings.ways = 0;
  TEST("switches add up large sums: each rank sends all bytes once") {
    const Traffic sum = traffic(RECORD_ALL_REDUCE, 8, 1e9);
    CHECK_NEAR((double)traffic_ns(&sum, &node), 25e3 + 1e9 / (360e9 * .764) * 1e9, 2);
    CHECK(traffic_ns(&sum, &rings) > 1.25 * (double)traffic_ns(&sum, &node));
  }
  TEST("small sums, and gathers, take rings all the same") {
    const Traffic small = traffic(RECORD_ALL_REDUCE, 8, 1024);
    const Traffic gather = traffic(RECORD_ALL_GATHER, 8, 1e9);
    CHECK_INT(traffic_ns(&small, &node), traffic_ns(&small, &rings));
    CHECK_INT(traffic_ns(&gather, &node), traffic_ns(&gather, &rings));
  }
  TEST("between nodes of one member small gathers take PAT, and large ones rings") {
    const PlanLink apart = {.bytes_per_s = 48e9, .latency_ns = 2700, .node_members = 1};
    PlanLink trees = apart;
    trees.ways = 1U << 16;
    const Traffic small = traffic(RECORD_ALL_GATHER, 128, 64e6);
    const Traffic large = traffic(RECORD_ALL_GATHER, 128, 64e9);
    const double sent = 127. / 128 * 1e9 / 48e9;
    CHECK_NEAR((double)traffic_ns(&small, &apart), 8000 + 7 * 14000 + 64e6 * sent / .75, 2);
    CHECK_NEAR((double)traffic_ns(&large, &apart), 8400 + 127 * 14000 + 64e9 * sent, 2);
    CHECK_NEAR((double)traffic_ns(&small, &trees), 8400 + 7 * 14000 + 64e6 * sent, 2);
  }
  TEST("links are the same only if all that their prices follow from is") {
    PlanLink other = node;
    other.class = 1, other.comm = 2;
    CHECK(price_same_link(&node, &other));
    other = node, other.ways = 0;
    CHECK(!price_same_link(&node, &other));
    other = node, other.node_members = 1;
    CHECK(!price_same_link(&node, &other));
    other = node, other.inside_latency_ns = 1;
    CHECK(!price_same_link(&node, &other));
  }
  CHECK_DONE();
}
