/* Which processors the threads of a rank get, from seats, places and what is allowed.
 * LINK: runtime plan_builder */
#include <string.h>

#include "runtime/boot/cores.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_sketch.h"

static Sketch sketch;

typedef struct Case {
  const char *name;
  const char *seat;    /* of ranks 0 and 2; NULL: nodes are not described */
  const char *allowed; /* to the process */
  uint32_t threads, node_ranks;
  int32_t rank;
  Neighbours here;
  const char *cores; /* of the rank */
} Case;

static const Case cases[] = {
    {"the machine's cores in order", NULL, "0-3", 2, 2, 0, {0, 2}, "0-1"},
    {"and the second rank the next", NULL, "0-3", 2, 2, 1, {1, 2}, "2-3"},
    {"of those that are allowed", NULL, "2,5,8-9", 2, 2, 1, {1, 2}, "8-9"},
    {"a part of the machine is not bound", NULL, "0-7", 2, 2, 0, {0, 2}, ""},
    {"fewer cores than threads are shared", NULL, "0-1", 2, 2, 0, {0, 2}, ""},
    {"a launcher has dealt them", NULL, "6-7", 2, 2, 1, {0, 1}, "6-7"},
    {"two planned nodes on one machine", NULL, "0-7", 2, 2, 3, {3, 4}, "6-7"},
    {"the second node by its own numbers", NULL, "0-3", 2, 2, 3, {1, 2}, "2-3"},
    {"a seat names them", "4-5,12-13", "0-15", 2, 2, 0, {0, 2}, "4-5"},
    {"and skips what is not allowed", "4-5,12-13", "5-15", 2, 2, 2, {0, 2}, "5,12"},
    {"a seat that is elsewhere", "40-41", "0-3", 2, 2, 0, {0, 2}, "0-1"},
    {"two nodes would sit on each other", "6-7", "0-7", 2, 2, 2, {2, 4}, "4-5"},
    {"seats without cores", "", "0-3", 2, 2, 0, {0, 2}, "0-1"},
};

static Plan plan_of(const Case *c) {
  PlanBuilder *b = &sketch.b;
  sketch_begin(&sketch);
  sketch_axis(&sketch, "dp", 4);
  *build_count(b, JOB_threads) = c->threads;
  PlanPlace place = {.rank_count = 4, .node_ranks = c->node_ranks, .core_count = c->threads};
  for (uint32_t i = 0; c->seat != NULL && i < c->node_ranks; i++) {
    const char *cores = i == 0 ? c->seat : "";
    build_seats(b, (PlanSeat){.device = i, .numa = PLAN_NONE, .cores = build_string(b, cores)});
    place.seats_count++;
  }
  b->places_count = 0;
  build_places(b, place);
  return build_view(b);
}

static void check_case(const Case *c) {
  char text[CORES_TEXT_BYTES];
  Cores allowed;
  Plan plan = plan_of(c);
  CHECK(cores_parse(c->allowed, &allowed));
  Cores own = cores_of_rank(&plan, c->rank, c->here, &allowed);
  CHECK_TEXT(cores_text(&own, text), c->cores);
  build_free(&sketch.b);
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    TEST(cases[i].name) check_case(&cases[i]);
  TEST("lists that are none") {
    static const char *const bad[] = {"", "a", "1-", "-1", "3-2", "1,", "1 2", "5-4,9"};
    Cores cores;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
      CHECK(!cores_parse(bad[i], &cores));
  }
  TEST("a long list is shortened") {
    char text[CORES_TEXT_BYTES];
    Cores cores = {.count = 300};
    for (int32_t i = 0; i < cores.count; i++)
      cores.core[i] = 2 * i;
    cores_text(&cores, text);
    CHECK(strlen(text) < CORES_TEXT_BYTES && strstr(text, ",...") != NULL);
  }
  CHECK_DONE();
}
