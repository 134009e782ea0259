/* Nodes that lack devices or cores that the plan uses, and nodes of one kind that differ.
 * LINK: runtime plan_builder */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/boot/agree.h"
#include "runtime/boot/seat.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_sketch.h"

enum { RANKS = 4 };

static Sketch sketch;
static char system_root[] = "/tmp/lockstep-seat.XXXXXX";

typedef struct Case {
  const char *name;
  const char *pci, *nic, *cores; /* of the rank's seat */
  const char *allowed;
  const char *why; /* a part of it; "" when the node is right */
} Case;

static const Case cases[] = {
    {"all is there", "0000:1b:00.0", "mlx5_0", "0-3", "0-7", ""},
    {"nothing is named", "", "", "", "5", ""},
    {"another device", "0000:9a:00.0", "", "", "0-7", "has no PCI device 0000:9a:00.0, which"},
    {"a network interface", "", "hsn0", "", "0-7", ""},
    {"a NIC without a name", "", "0000:1b:00.0", "", "0-7", ""},
    {"another NIC", "0000:1b:00.0", "mlx5_9", "", "0-7", "has no NIC mlx5_9, which"},
    {"the kind is named", "0000:9a:00.0", "", "", "0-7", "on a node 'dgx'"},
    {"other processors", "", "", "16-31", "0-7",
     "may use processors 0-7, and the plan gives it 16-31"},
    {"fewer than threads", "", "", "0-3", "3-7", "gives it 0-3 for its 2 threads"},
    {"a part of them is enough", "", "", "0-3", "2-7", ""},
    {"a seat of one processor is shared by its threads", "", "", "6", "0-7", ""},
};

static void make(const char *folder) {
  char path[200];
  (void)snprintf(path, sizeof path, "%s/%s", system_root, folder);
  CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
}

static void make_system(void) {
  static const char *const folders[] = {"bus",
                                        "bus/pci",
                                        "bus/pci/devices",
                                        "bus/pci/devices/0000:1b:00.0",
                                        "class",
                                        "class/infiniband",
                                        "class/infiniband/mlx5_0",
                                        "class/net",
                                        "class/net/hsn0"};
  CHECK(mkdtemp(system_root) != NULL);
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    make(folders[i]);
}

static void remove_system(void) {
  char command[200];
  (void)snprintf(command, sizeof command, "rm -r %s", system_root);
  CHECK(system(command) == 0);
}

static Plan plan_of(const Case *c) {
  PlanBuilder *b = &sketch.b;
  sketch_begin(&sketch);
  sketch_axis(&sketch, "dp", RANKS);
  *build_count(b, JOB_threads) = 2;
  b->places_count = 0;
  build_seats(b, (PlanSeat){.numa = PLAN_NONE,
                            .pci = build_string(b, c->pci),
                            .nic = build_string(b, c->nic),
                            .cores = build_string(b, c->cores)});
  build_places(b, (PlanPlace){.rank_count = RANKS,
                              .node_ranks = 1,
                              .seats_count = 1,
                              .kind = build_string(b, "dgx")});
  return build_view(b);
}

static void check_seats(void) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    TEST(cases[i].name) {
      char why[SEAT_WHY_BYTES];
      Cores allowed;
      Plan plan = plan_of(&cases[i]);
      CHECK(cores_parse(cases[i].allowed, &allowed));
      CHECK(seat_check(&plan, 3, &allowed, system_root, why) == (*cases[i].why == 0));
      CHECK(strstr(why, cases[i].why) != NULL);
      CHECK((*why == 0) == (*cases[i].why == 0));
      build_free(&sketch.b);
    }
  }
}

static void check_all(void) {
  BootFacts facts[RANKS] = {0};
  Status status;
  Plan plan = plan_of(&cases[0]);
  for (int32_t i = 0; i < RANKS; i++) {
    (void)snprintf(facts[i].node, sizeof facts[i].node, "n%d", i);
    (void)snprintf(facts[i].machine, sizeof facts[i].machine, "a processor, 64 processors");
  }
  TEST("nodes that are as planned") {
    CHECK(agree_seats(&plan, facts, RANKS, &status));
  }
  TEST("the first rank that is not where the plan has it is named, and how many are not") {
    (void)snprintf(facts[1].seat, sizeof facts[1].seat, "has no NIC mlx5_0");
    (void)snprintf(facts[3].seat, sizeof facts[3].seat, "has no NIC mlx5_1");
    CHECK(!agree_seats(&plan, facts, RANKS, &status));
    CHECK_INT(status.code, STATUS_USER);
    CHECK(strstr(status.text, "rank 1 on n1 has no NIC mlx5_0 (2 of 4 ranks") != NULL);
    facts[1].seat[0] = facts[3].seat[0] = 0;
  }
  TEST("nodes of one kind are alike") {
    (void)snprintf(facts[2].machine, sizeof facts[2].machine, "a processor, 32 processors");
    CHECK(!agree_seats(&plan, facts, RANKS, &status));
    CHECK(strstr(status.text, "'dgx' in the plan, but n0 is a processor, 64 processors and n2 is a "
                              "processor, 32 processors") != NULL);
  }
  TEST("and of two kinds need not be") {
    PlanBuilder *b = &sketch.b;
    b->places[0].rank_count = 2;
    build_places(b, (PlanPlace){.rank_first = 2,
                                .rank_count = 2,
                                .node_first = 2,
                                .node_ranks = 1,
                                .kind = build_string(b, "small")});
    plan = build_view(b);
    (void)snprintf(facts[3].machine, sizeof facts[3].machine, "%s", facts[2].machine);
    CHECK(agree_seats(&plan, facts, RANKS, &status));
  }
  build_free(&sketch.b);
}

int main(void) {
  make_system();
  check_seats();
  check_all();
  remove_system();
  CHECK_DONE();
}
