/* Where a step's time went, from its records; and who is slow, from sums of it.
 * LINK: runtime plan_builder */
#include <string.h>

#include "runtime/observe/stragglers.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_sketch.h"

enum {
  KERNEL,
  DP,
  PP,
  BOTH,
  RECORDS,
  RANKS = 4,
  MAIN = LANE_COMPUTE,
  BESIDE = LANE_DP,
  ENTRIES = 4
};

static Sketch sketch;
static Plan plan;
static Mesh mesh;

static void open_plan(void) {
  PlanBuilder *b = &sketch.b;
  sketch_begin(&sketch);
  sketch_axis(&sketch, "dp", 2);
  sketch_axis(&sketch, "pp", 2);
  b->axes[1].divides = DIVIDES_DEPTH;
  build_strides(b);
  uint32_t dp = sketch_comm(&sketch, 1), pp = sketch_comm(&sketch, 2);
  uint32_t both = sketch_comm(&sketch, 3);
  sketch_segment(&sketch);
  sketch_record(&sketch, RECORD_KERNEL, LANE_COMPUTE, PLAN_NONE);
  sketch_record(&sketch, RECORD_ALL_REDUCE, LANE_DP, dp);
  sketch_record(&sketch, RECORD_EXCHANGE, LANE_COMPUTE, pp);
  sketch_record(&sketch, RECORD_ALL_REDUCE, LANE_COMPUTE, both);
  sketch_class(&sketch, 0, 2);
  plan = build_view(b);
}

typedef struct Ran {
  uint32_t lane, record;
  int64_t start_ns, end_ns;
} Ran;

/* Intervals of a step from 100 to 200; an entry without an end is unused. */
typedef struct Case {
  const char *name;
  Ran ran[ENTRIES];
  int64_t data_ns, fastest_pp_ns;
  int64_t compute, dp, pp, several, bubble, data, other;
} Case;

static const Case cases[] = {
    {"nothing ran", {{0}}, 0, 0, 0, 0, 0, 0, 0, 0, 100},
    {"kernels, and what is between",
     {{MAIN, KERNEL, 110, 140}, {MAIN, KERNEL, 150, 200}},
     0,
     0,
     80,
     0,
     0,
     0,
     0,
     0,
     20},
    {"waiting for data comes first", {{MAIN, KERNEL, 130, 200}}, 25, 0, 70, 0, 0, 0, 0, 25, 5},
    {"data that came while it computed", {{MAIN, KERNEL, 100, 190}}, 50, 0, 90, 0, 0, 0, 0, 10, 0},
    {"beside kernels communication is hidden",
     {{MAIN, KERNEL, 100, 200}, {BESIDE, DP, 120, 180}},
     0,
     0,
     100,
     0,
     0,
     0,
     0,
     0,
     0},
    {"in a gap it is exposed",
     {{MAIN, KERNEL, 100, 120}, {BESIDE, DP, 110, 160}, {MAIN, KERNEL, 165, 200}},
     0,
     0,
     55,
     40,
     0,
     0,
     0,
     0,
     5},
    {"after the last kernel, too",
     {{MAIN, KERNEL, 100, 150}, {BESIDE, DP, 140, 195}},
     0,
     0,
     50,
     45,
     0,
     0,
     0,
     0,
     5},
    {"an exchange that waited is bubble",
     {{MAIN, KERNEL, 100, 150}, {MAIN, PP, 150, 200}},
     0,
     10,
     50,
     0,
     10,
     0,
     40,
     0,
     0},
    {"and the fastest so far is none",
     {{MAIN, PP, 100, 105}, {MAIN, KERNEL, 105, 200}},
     0,
     10,
     95,
     0,
     5,
     0,
     0,
     0,
     0},
    {"several axes at once",
     {{MAIN, KERNEL, 100, 150}, {MAIN, BOTH, 150, 200}},
     0,
     0,
     50,
     0,
     0,
     50,
     0,
     0,
     0},
    {"what began before the step, or ends after it",
     {{MAIN, KERNEL, 80, 120}, {MAIN, KERNEL, 180, 220}},
     0,
     0,
     40,
     0,
     0,
     0,
     0,
     0,
     60},
};

static void check_case(const Case *c) {
  TraceEntry entry[LANES_OF_DEVICE][ENTRIES] = {0};
  int64_t fastest[RECORDS] = {0}, sum[RECORDS] = {0};
  StepLog log = {.lane = {[MAIN].entry = entry[MAIN], [BESIDE].entry = entry[BESIDE]}};
  RecordTimes records = {fastest, sum};
  StepSpan span = {.begin_ns = 100, .end_ns = 200, .data_ns = c->data_ns};
  Breakdown of;
  for (int32_t i = 0; i < ENTRIES && c->ran[i].end_ns > 0; i++) {
    const Ran *ran = &c->ran[i];
    entry[ran->lane][log.lane[ran->lane].count++] = (TraceEntry){
        .start_ns = ran->start_ns, .end_ns = ran->end_ns, .record = ran->record, .lane = ran->lane};
  }
  fastest[PP] = c->fastest_pp_ns;
  breakdown_step(&of, &plan, &log, &span, &records);
  CHECK_INT(of.compute_ns, c->compute);
  CHECK_INT(of.exposed_ns[0], c->dp);
  CHECK_INT(of.exposed_ns[1], c->pp);
  CHECK_INT(of.exposed_ns[MESH_AXES_MAX], c->several);
  CHECK_INT(of.bubble_ns, c->bubble);
  CHECK_INT(of.data_ns, c->data);
  CHECK_INT(of.other_ns, c->other);
  CHECK_INT(of.compute_ns + breakdown_exposed_ns(&of) + of.bubble_ns + of.data_ns + of.other_ns,
            of.step_ns);
}

/* ---- who is slow */

typedef struct SlowCase {
  const char *name;
  int64_t kernel[RANKS], meeting[RANKS]; /* ns in two steps */
  int32_t slow;                          /* -1: none */
  int64_t own, wait;                     /* of the rank that is first, in a step */
} SlowCase;

static const SlowCase slow_cases[] = {
    {"all alike", {80, 80, 80, 80}, {20, 20, 20, 20}, -1, 50, 0},
    {"others wait for it", {40, 40, 90, 40}, {60, 60, 10, 60}, 2, 50, 0},
    {"a little is none", {80, 80, 82, 80}, {20, 20, 18, 20}, -1, 50, 0},
    {"a slow network is nobody's", {40, 40, 40, 40}, {60, 60, 60, 60}, -1, 50, 0},
};

static char said[4096];

static void keep_line(void *context, const char *line) {
  (void)context;
  CHECK(strlen(line) <= 80);
  size_t used = strlen(said);
  (void)snprintf(said + used, sizeof said - used, "%s\n", line);
}

static void check_slow(const SlowCase *c) {
  Stragglers s;
  CHECK(mesh_read(&mesh, &plan, &(Status){0}) && stragglers_open(&s, &plan, &mesh));
  for (int32_t rank = 0; rank < RANKS; rank++) {
    RankTimes *times = &s.times[rank];
    (void)snprintf(times->node, sizeof times->node, "n%d", rank);
    times->steps = 2;
    times->sum.step_ns = 100;
    times->sum.compute_ns = s.record_ns[rank * RECORDS + KERNEL] = c->kernel[rank];
    times->sum.exposed_ns[0] = s.record_ns[rank * RECORDS + DP] = c->meeting[rank];
  }
  stragglers_judge(&s);
  CHECK_INT(s.own[0].own_ns, c->own);
  CHECK_INT(s.own[0].wait_ns, c->wait);
  for (int32_t i = 0; i < RANKS; i++)
    CHECK_INT(s.own[i].is_slow, s.own[i].rank == c->slow);
  *said = 0;
  stragglers_tell(&s, keep_line, NULL);
  CHECK_INT(strstr(said, "slow     rank 2 on n2") != NULL, c->slow == 2);
  CHECK_INT(strstr(said, "slow     none") != NULL, c->slow < 0);
  stragglers_close(&s);
}

int main(void) {
  open_plan();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    TEST(cases[i].name) check_case(&cases[i]);
  for (size_t i = 0; i < sizeof slow_cases / sizeof *slow_cases; i++)
    TEST(slow_cases[i].name) check_slow(&slow_cases[i]);
  CHECK_DONE();
}
