/* The judge names the lost rank from the signs of life of all.
 * LINK: runtime plan_builder */
#include "runtime/watch/judge.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { RANKS = 4, NOW_MS = 100000, USUAL_NS = 1000000 };

static PlanBuilder builder;
static Plan plan;
static Mesh mesh;

/* Records 0 to 2: a kernel, an all-reduce over dp (ranks 0, 2 and 1, 3) and a read of a file, on
 * lane 0. */
static void open_plan(void) {
  Status status;
  build_axes(&builder, build_axis_named(&builder, "dp", 2));
  build_axes(&builder, build_axis_named(&builder, "tp", 2));
  build_strides(&builder);
  build_device(&builder);
  build_comms(&builder, (PlanComm){1, build_string(&builder, "dp")});
  build_records(&builder, (PlanRecord){.kind = RECORD_KERNEL, .comm = PLAN_NONE});
  build_records(&builder, (PlanRecord){.kind = RECORD_ALL_REDUCE, .kernel = PLAN_NONE, .comm = 0});
  build_records(&builder,
                (PlanRecord){.kind = RECORD_READ, .kernel = PLAN_NONE, .comm = PLAN_NONE});
  plan = build_view(&builder);
  CHECK(mesh_read(&mesh, &plan, &status));
}

/* All in step 30: heard of just now, moved just now, in the kernel. */
static void all_well(RankView view[RANKS]) {
  for (int32_t i = 0; i < RANKS; i++) {
    view[i] = (RankView){.has_come = true, .heard_ms = NOW_MS, .moved_ms = NOW_MS};
    view[i].beat.phase = FLIGHT_STEP;
    view[i].beat.usual_ns = USUAL_NS;
    view[i].beat.lane[0] = (FlightNow){.begun = 10, .record = 0, .is_running = 1};
  }
}

/* Nobody has moved for `ms`; all but `rank` are in the all-reduce. */
static void stand_still(RankView view[RANKS], int64_t ms, int32_t rank) {
  for (int32_t i = 0; i < RANKS; i++) {
    view[i].moved_ms = NOW_MS - ms;
    if (i != rank) view[i].beat.lane[0] = (FlightNow){.begun = 11, .record = 1, .is_running = 1};
  }
}

static void check_verdict(const RankView *view, Loss loss, int32_t rank) {
  Verdict verdict = judge(&plan, &mesh, view, NOW_MS);
  CHECK_INT(verdict.loss, loss);
  CHECK_INT(verdict.rank, rank);
}

static void check_losses(void) {
  RankView view[RANKS];
  TEST("nobody is lost while all are heard of") {
    all_well(view);
    check_verdict(view, LOSS_NONE, -1);
    view[3] = (RankView){0}; /* not there yet */
    check_verdict(view, LOSS_NONE, -1);
  }
  TEST("a node is lost when all its ranks are, and there is another") {
    const char *two[RANKS] = {"n0", "n0", "n1", "n1"}, *one[RANKS] = {"n0", "n0", "n0", "n0"};
    all_well(view);
    view[3].closed_ms = NOW_MS - 10;
    CHECK(!judge_node_is_lost(view, two, RANKS, 3, NOW_MS));
    view[2].heard_ms = NOW_MS - JUDGE_SILENT_MS;
    CHECK(judge_node_is_lost(view, two, RANKS, 3, NOW_MS));
    CHECK(!judge_node_is_lost(view, one, RANKS, 3, NOW_MS));
    view[2].has_left = true;
    CHECK(!judge_node_is_lost(view, two, RANKS, 3, NOW_MS));
    const char *own[RANKS] = {"n0", "n1", "n2", "n3"}; /* a rank that dies is not yet a node */
    CHECK(!judge_node_is_lost(view, own, RANKS, 3, NOW_MS));
  }
  TEST("a connection that ends without a word, the first of several, unless the rank has left") {
    all_well(view);
    view[1].closed_ms = NOW_MS - 5;
    view[2].closed_ms = NOW_MS - 6;
    check_verdict(view, LOSS_DEAD, 2);
    view[2].has_left = true;
    check_verdict(view, LOSS_DEAD, 1);
  }
  TEST("a reason of its own comes before a connection that ended earlier") {
    all_well(view);
    view[0].closed_ms = NOW_MS - 50;
    view[2].failed = 2;
    view[3].failed = 1;
    check_verdict(view, LOSS_ERROR, 3);
  }
  TEST("silence counts from the limit on, and the longest first") {
    all_well(view);
    view[1].heard_ms = NOW_MS - JUDGE_SILENT_MS;
    check_verdict(view, LOSS_NONE, -1);
    view[1].heard_ms--;
    check_verdict(view, LOSS_SILENT, 1);
    view[3].heard_ms = view[1].heard_ms - 1;
    check_verdict(view, LOSS_SILENT, 3);
    view[3].has_left = true;
    check_verdict(view, LOSS_SILENT, 1);
  }
}

static void check_usual(void) {
  static Flight flight;
  TEST("a step's time is the prediction after the first step, and the median when it is known") {
    flight_predict(&flight, 7000);
    CHECK_INT(flight_beat(&flight, &plan).usual_ns, 0);
    flight_step_took(&flight, 90000);
    CHECK_INT(flight_beat(&flight, &plan).usual_ns, 7000);
    for (int32_t i = 0; i < FLIGHT_MEDIAN_STEPS; i++)
      flight_step_took(&flight, i % 2 ? 2000 : 3000 + i);
    CHECK_INT(flight_beat(&flight, &plan).usual_ns, 3000);
  }
}

static void check_standstills(void) {
  RankView view[RANKS];
  TEST("a standstill is blamed on who is in no communication") {
    all_well(view);
    stand_still(view, JUDGE_STUCK_LEAST_MS, 2);
    check_verdict(view, LOSS_NONE, -1);
    stand_still(view, JUDGE_STUCK_LEAST_MS + 1, 2);
    check_verdict(view, LOSS_STUCK, 2);
    view[1].moved_ms = NOW_MS; /* somebody gets on */
    check_verdict(view, LOSS_NONE, -1);
  }
  TEST("slow steps have five of their usual times, and none are judged before it is known") {
    all_well(view);
    stand_still(view, 20000, 1);
    for (int32_t i = 0; i < RANKS; i++)
      view[i].beat.usual_ns = 4000000000;
    check_verdict(view, LOSS_NONE, -1);
    stand_still(view, 20001, 1);
    check_verdict(view, LOSS_STUCK, 1);
    view[3].beat.usual_ns = 0;
    check_verdict(view, LOSS_NONE, -1);
  }
  TEST("a read of a file may take ten minutes") {
    all_well(view);
    stand_still(view, JUDGE_FILE_MS, 2);
    view[2].beat.lane[0] = (FlightNow){.begun = 10, .record = 2, .is_running = 1};
    check_verdict(view, LOSS_NONE, -1);
    stand_still(view, JUDGE_FILE_MS + 1, 2);
    check_verdict(view, LOSS_STUCK, 2);
    view[2].beat.lane[0].is_running = 0; /* it has ended, and the rank does nothing */
    stand_still(view, JUDGE_STUCK_LEAST_MS + 1, 2);
    check_verdict(view, LOSS_STUCK, 2);
  }
  TEST("saving and starting take as long as they take") {
    all_well(view);
    stand_still(view, 60000, 0);
    view[2].beat.phase = FLIGHT_SAVING;
    check_verdict(view, LOSS_NONE, -1);
  }
  TEST("where all are in communications, the member that has not come to the others'") {
    all_well(view);
    stand_still(view, 60000, -1);
    view[2].beat.lane[0].begun = 7; /* 0 and 2 are one communicator */
    check_verdict(view, LOSS_STUCK, 2);
    CHECK(judge_is_member(&plan, &mesh, view, 0, 0, 2));
    CHECK(!judge_is_member(&plan, &mesh, view, 0, 0, 1));
    CHECK(!judge_has_arrived(view, 0, 0, 2));
    CHECK(judge_has_arrived(view, 2, 0, 0));
  }
}

static void check_starved(void) {
  RankView view[RANKS];
  Verdict verdict;
  TEST("silence of a rank that waits for a processor is no silence, until it starves too long") {
    all_well(view);
    view[1].heard_ms = NOW_MS - 20000;
    view[1].starved_ms = 17000;
    check_verdict(view, LOSS_NONE, -1);
    verdict = judge_starved(&plan, &mesh, view, NOW_MS);
    CHECK_INT(verdict.loss, LOSS_STARVED);
    CHECK_INT(verdict.rank, 1);
    view[1].starved_ms = 16999;
    check_verdict(view, LOSS_SILENT, 1);
    view[1].heard_ms = NOW_MS - JUDGE_SILENT_MS - JUDGE_STARVED_MS - 1;
    view[1].starved_ms = JUDGE_STARVED_MS + 1;
    check_verdict(view, LOSS_STARVED, 1);
  }
  TEST("a standstill for lack of processors is none, until it lasts too long") {
    all_well(view);
    CHECK_INT(judge_starved(&plan, &mesh, view, NOW_MS).loss, LOSS_NONE);
    stand_still(view, 10000, 2);
    view[2].beat.starved_ms = 6000;
    view[2].starved_ms = 1000; /* since its last beat */
    check_verdict(view, LOSS_NONE, -1);
    CHECK_INT(judge_starved(&plan, &mesh, view, NOW_MS).rank, 2);
    view[2].starved_ms = 999; /* it had the processor for longer than a standstill may last */
    check_verdict(view, LOSS_STUCK, 2);
    CHECK_INT(judge_starved(&plan, &mesh, view, NOW_MS).loss, LOSS_NONE);
    stand_still(view, JUDGE_STUCK_LEAST_MS + JUDGE_STARVED_MS + 1, 2);
    view[2].beat.starved_ms = JUDGE_STARVED_MS + 1;
    view[2].starved_ms = 0;
    check_verdict(view, LOSS_STARVED, 2);
  }
  TEST("load and time without a processor are no progress") {
    Beat before = {.step = 3}, now = {.step = 3, .starved_ms = 9, .load = {27, 2}};
    CHECK(!beat_has_moved(&before, &now));
    now.step++;
    CHECK(beat_has_moved(&before, &now));
  }
}

int main(void) {
  open_plan();
  check_starved();
  check_losses();
  check_usual();
  check_standstills();
  build_free(&builder);
  CHECK_DONE();
}
