/* Lanes beside the computation: they really run beside it, and edges hold.
 * LINK: runtime plan_builder */
#include <stdatomic.h>

#include "tests/unit/replay_rig.h"

enum { ROUNDS = 30, TIMES = 8, ALL = 0 };

static Sketch sketch;
static Rig rig;

static void operand(uint64_t first, Access access) {
  sketch_operand(&sketch, first * 4, 16, DTYPE_F32, access);
}

/* One dp axis of `ranks`, and a segment. */
static uint32_t begin(uint32_t ranks) {
  sketch_begin(&sketch);
  sketch_axis(&sketch, "dp", ranks);
  sketch_comm(&sketch, 1);
  return sketch_segment(&sketch);
}

static void end(void) {
  rig_close(&rig);
  build_free(&sketch.b);
}

/* y = x + 1 over four floats. */
static PlanRecord *increment(uint64_t x, uint64_t y) {
  sketch_kernel(&sketch, "affine", LANE_COMPUTE);
  operand(x, ACCESS_READ), operand(y, ACCESS_WRITE);
  sketch_dim(&sketch, 4);
  sketch_attr(&sketch, 1), sketch_attr(&sketch, 1);
  return sketch_newest(&sketch);
}

static PlanRecord *all_reduce(uint64_t x, uint64_t y, Lane lane) {
  sketch_record(&sketch, RECORD_ALL_REDUCE, lane, ALL);
  operand(x, ACCESS_READ), operand(y, ACCESS_WRITE);
  return sketch_newest(&sketch);
}

static void after(const PlanRecord *record, uint32_t other) {
  build_edge(&sketch.b, (uint32_t)(record - sketch.b.records), other);
}

static PlanRecord *add(uint64_t a, uint64_t b) {
  sketch_kernel(&sketch, "add", LANE_COMPUTE);
  operand(a, ACCESS_READ), operand(b, ACCESS_READ), operand(a, ACCESS_WRITE);
  sketch_dim(&sketch, 1), sketch_dim(&sketch, 4), sketch_dim(&sketch, 1);
  return sketch_newest(&sketch);
}

static PlanRecord *exchange(Lane lane, Access access) {
  sketch_record(&sketch, RECORD_EXCHANGE, lane, ALL);
  operand(access == ACCESS_READ ? 0 : 100, access);
  sketch_dim(&sketch, 1);
  return sketch_newest(&sketch);
}

/* x += 1; s = sum of x over ranks; t += s: in a loop, where s may be late within the edges. */
static void build_loop(uint32_t ranks) {
  uint32_t body = begin(ranks);
  increment(0, 0);
  after(all_reduce(0, 16, LANE_DP), 0);
  after(add(32, 16), 1);
  uint32_t last = sketch_segment(&sketch);
  add(48, 16);
  sketch_call(&sketch, body, 0);
  sketch_wait(&sketch, LANE_DP, 0, 2, 1); /* s was added before it is written again */
  sketch_call(&sketch, last, -1);
  sketch_wait(&sketch, LANE_COMPUTE, 0, 1, 0); /* the last iteration's */
  build_loops(&sketch.b, (PlanLoop){0, 1, TIMES, 1});
  sketch_class(&sketch, 0, ranks);
}

static void test_edges(void) {
  Status status;
  TEST("edges inside segments, between calls and between iterations hold") {
    for (uint32_t ranks = 1; ranks <= 3; ranks++) {
      build_loop(ranks);
      rig_open(&rig, &sketch);
      rig.rounds = ROUNDS;
      local_world_delay(rig.world, (CommDelay){.message_ns = ranks == 3 ? 20000 : 0});
      CHECK(rig_run(&rig, &status));
      double x = 0, t = 32, u = 48; /* element 0, without the 1000 a rank */
      for (uint32_t rank = 1; rank < ranks; rank++)
        x += 1000.0 * rank;
      for (int i = 0; i < ROUNDS * TIMES; i++) {
        x += ranks;
        t += x;
        if (i % TIMES == TIMES - 1) u += x;
      }
      for (uint32_t rank = 0; rank < ranks; rank++) {
        CHECK_NEAR(rig_data(&rig, (int32_t)rank)[32], t + 1000 * rank, 0);
        CHECK_NEAR(rig_data(&rig, (int32_t)rank)[48], u + 1000 * rank, 0);
        CHECK_INT(replay_count(&rig.replay[rank], 1)->runs, ROUNDS * TIMES);
      }
      end();
    }
  }
  TEST("a lane that only waits for the iteration before does not overtake it") {
    uint32_t body = begin(2);
    all_reduce(0, 16, LANE_DP); /* the thread sanitizer sees it if s is still being added */
    after(add(32, 16), 0);
    sketch_call(&sketch, body, 0);
    sketch_wait(&sketch, LANE_DP, 0, 1, 1);
    build_loops(&sketch.b, (PlanLoop){0, 1, TIMES, 1});
    sketch_class(&sketch, 0, 2);
    rig_open(&rig, &sketch);
    rig.rounds = ROUNDS;
    CHECK(rig_run(&rig, &status));
    CHECK_NEAR(rig_data(&rig, 1)[32], 1032 + 1000 * ROUNDS * TIMES, 0);
    end();
  }
  TEST("an edge from a record that does not run holds nothing up") {
    uint32_t segment = begin(2);
    increment(0, 0)->when_all = CALL_FIRST_LAYER;
    PlanRecord *reduce = all_reduce(0, 16, LANE_DP);
    after(reduce, 0);
    sketch_call(&sketch, segment, -1);
    sketch_call(&sketch, segment, -1);
    sketch_wait(&sketch, LANE_DP, 0, 0, 0);
    sketch_class(&sketch, 0, 2);
    rig_open(&rig, &sketch);
    CHECK(rig_run(&rig, &status));
    CHECK_NEAR(rig_data(&rig, 1)[17], 1002, 0);
    end();
  }
}

static const DeviceOps *unmarked;
static atomic_int marks[MarkFor_COUNT];

static bool count_mark(Queue *queue, MarkFor whom, Status *status) {
  atomic_fetch_add(&marks[whom], 1);
  return unmarked->mark(queue, whom, status);
}

/* A GPU's wait for what is not marked is one for all that was issued by then. */
static void test_marks(void) {
  static DeviceOps marking;
  Status status;
  TEST("what another lane waits for is marked, and for the host the end of a run") {
    build_loop(2);
    rig_open(&rig, &sketch);
    unmarked = rig.replay[0].device->ops;
    marking = *unmarked;
    marking.mark = count_mark;
    rig.replay[0].device->ops = &marking;
    rig.rounds = ROUNDS;
    CHECK(rig_run(&rig, &status));
    CHECK_INT(atomic_load(&marks[MARK_FOR_QUEUES]), ROUNDS * TIMES * 3); /* all of the body */
    CHECK_INT(atomic_load(&marks[MARK_FOR_HOST]), ROUNDS);
    end();
  }
}

static void test_edges_beside(void) {
  Status status;
  TEST("edges between two lanes beside the computation hold") {
    uint32_t body = begin(2), pipeline = sketch_comm(&sketch, 1);
    increment(0, 0);
    after(all_reduce(0, 16, LANE_DP), 0);
    PlanRecord *again = all_reduce(16, 32, LANE_PP); /* twice the sum */
    again->comm = pipeline, after(again, 1);
    after(add(48, 32), 2);
    sketch_call(&sketch, body, 0);
    sketch_wait(&sketch, LANE_COMPUTE, 0, 1, 1); /* x has been read */
    sketch_wait(&sketch, LANE_DP, 0, 2, 1);
    sketch_wait(&sketch, LANE_PP, 0, 3, 1);
    build_loops(&sketch.b, (PlanLoop){0, 1, TIMES, 1});
    sketch_class(&sketch, 0, 2);
    rig_open(&rig, &sketch);
    rig.rounds = ROUNDS;
    CHECK(rig_run(&rig, &status));
    double x = 1000, t = 48; /* sums of element 0 over both ranks, from 0 and 1000 */
    for (int i = 0; i < ROUNDS * TIMES; i++) {
      x += 2;
      t += 2 * x;
    }
    CHECK_NEAR(rig_data(&rig, 0)[48], t, 0);
    CHECK_NEAR(rig_data(&rig, 1)[48], t + 1000, 0);
    end();
  }
}

static void test_beside(void) {
  Status status;
  TEST("without records off the compute lane there is no second thread") {
    uint32_t segment = begin(2);
    all_reduce(0, 16, LANE_COMPUTE);
    sketch_call(&sketch, segment, -1);
    sketch_class(&sketch, 0, 2);
    rig_open(&rig, &sketch);
    CHECK(rig_run(&rig, &status));
    CHECK(rig.replay[0].queues_mask == 0 && rig.replay[0].threads_beside == NULL);
    end();
  }
  if (HOSTILE_RUNS_ALONE) return;
  TEST("what would wait for itself in list order ends when lanes run beside each other") {
    /* Rank 0 waits on its lane for rank 1's send, which comes after rank 1 has received what rank 0
     * sends on its compute lane, later in the list. */
    uint32_t first = begin(2);
    exchange(LANE_PP, ACCESS_WRITE);
    exchange(LANE_COMPUTE, ACCESS_READ);
    sketch_call(&sketch, first, -1);
    sketch_class(&sketch, 0, 1);
    uint32_t second = sketch_segment(&sketch);
    exchange(LANE_COMPUTE, ACCESS_WRITE);
    after(exchange(LANE_PP, ACCESS_READ), 0);
    sketch_call(&sketch, second, -1);
    sketch_class(&sketch, 1, 2);
    rig_open(&rig, &sketch);
    rig.rounds = ROUNDS;
    CHECK(rig_run(&rig, &status));
    CHECK_NEAR(rig_data(&rig, 0)[100], 1000, 0);
    CHECK_NEAR(rig_data(&rig, 1)[100], 0, 0);
    end();
  }
}

/* Rank 0's gradients wait for rank 1's, which go out when rank 1 has what rank 0's pipeline sends:
 * later in the list, and on another lane. */
static void test_apart(void) {
  Status status;
  uint32_t first = begin(2), pipeline = sketch_comm(&sketch, 1);
  exchange(LANE_DP, ACCESS_WRITE);
  exchange(LANE_PP, ACCESS_READ)->comm = pipeline;
  sketch_call(&sketch, first, -1);
  sketch_class(&sketch, 0, 1);
  uint32_t second = sketch_segment(&sketch);
  exchange(LANE_PP, ACCESS_WRITE)->comm = pipeline;
  after(exchange(LANE_DP, ACCESS_READ), 0);
  sketch_call(&sketch, second, -1);
  sketch_class(&sketch, 1, 2);
  rig_open(&rig, &sketch);
  rig.rounds = ROUNDS;
  CHECK_INT(rig.replay[0].queues_mask, 1 << LANE_DP | 1 << LANE_PP);
  CHECK(rig_run(&rig, &status));
  CHECK_NEAR(rig_data(&rig, 0)[100], 1000, 0);
  CHECK_NEAR(rig_data(&rig, 1)[100], 0, 0);
  end();
}

static KernelStatus break_down(const KernelArgs *args, const char **why) {
  (void)args;
  *why = "the device is lost";
  return KERNEL_FAILED;
}

static void test_failure(Lane kernel_lane, Lane wait_lane) {
  static const Kernel broken = {.id = KERNEL_sum, .run = break_down};
  Status status;
  /* Both ranks wait for a send that nobody makes; rank 0 fails beside it. */
  for (uint32_t rank = 0; rank < 2; rank++) {
    uint32_t segment = rank == 0 ? begin(2) : sketch_segment(&sketch);
    exchange(wait_lane, ACCESS_WRITE);
    if (rank == 0) {
      sketch_kernel(&sketch, "sum", kernel_lane);
      sketch_operand(&sketch, 0, 8, DTYPE_F64, ACCESS_READ);
      sketch_operand(&sketch, 8, 8, DTYPE_F64, ACCESS_WRITE);
      sketch_dim(&sketch, 1);
    }
    sketch_call(&sketch, segment, -1);
    sketch_class(&sketch, rank, rank + 1);
  }
  rig_open(&rig, &sketch);
  rig.replay[0].kernel[0] = &broken;
  CHECK(!rig_run(&rig, &status));
  CHECK_TEXT(status.text, "record: kernel sum: the device is lost");
  CHECK_INT(status.code, STATUS_WORLD);
  end();
}

/* So many that 16 bits do not number them. The last records before the edge take long, so whoever
 * does not wait for them comes too early. */
static void test_long_segment(void) {
  enum { RECORDS = 65600, SLOW = 60, SLOW_FLOATS = 8192, CALLS = 2, OUT = 12000 };
  Status status;
  uint32_t segment = begin(1);
  for (uint32_t i = 0; i < RECORDS - 1; i++) {
    PlanRecord *record = increment(0, 0);
    if (i + SLOW < RECORDS - 1) continue;
    for (uint32_t k = 0; k < 2; k++)
      sketch.b.operands[record->operands_first + k].size_bytes = 4 * SLOW_FLOATS;
    sketch.b.ints[record->dims_first] = SLOW_FLOATS;
  }
  after(all_reduce(0, OUT, LANE_DP), RECORDS - 2);
  for (int32_t i = 0; i < CALLS; i++) {
    sketch_call(&sketch, segment, -1);
    if (i > 0) sketch_wait(&sketch, LANE_COMPUTE, (uint32_t)i - 1, RECORDS - 1, 0);
  }
  sketch_class(&sketch, 0, 1);
  rig_open(&rig, &sketch);
  CHECK(rig_run(&rig, &status));
  CHECK_NEAR(rig_data(&rig, 0)[OUT], CALLS * (RECORDS - 1), 0);
  end();
}

/* A run's control goes in and comes out while the one before is not yet collected. */
static void test_ahead(bool are_threads) {
  Status status = {0};
  uint32_t segment = begin(1);
  *build_count(&sketch.b, JOB_control_depth) = *build_count(&sketch.b, JOB_prefetch_steps) = 2;
  sketch_kernel(&sketch, "sum", LANE_DP);
  sketch_operand(&sketch, 0, 8, DTYPE_F64, ACCESS_READ);
  sketch_operand(&sketch, 8, 8, DTYPE_F64, ACCESS_WRITE);
  sketch_dim(&sketch, 1);
  sketch_call(&sketch, segment, -1);
  sketch_class(&sketch, 0, 1);
  rig_open(&rig, &sketch);
  Replay *replay = &rig.replay[0];
  ReplaySetup setup = replay->setup;
  setup.issues_only = are_threads, setup.delay_most_ns = are_threads ? 100000 : 0;
  replay_free(replay);
  CHECK(replay_bind(replay, &setup, &status));
  const PlanProgram *program = replay_program(replay, PROGRAM_TRAIN_STEP);
  for (int32_t run = 0; run <= ROUNDS; run++) {
    Control in = {.stop = run};
    ReplayLeft left;
    CHECK(replay_start(replay, program, &in, NULL, &status));
    if (run == 0) continue;
    CHECK(replay_collect(replay, &left, &status));
    CHECK_NEAR(left.control.stop, run - 1, 0);
  }
  Control lasting = {.updates = 41}, seen = {0};
  ReplayLeft left;
  CHECK(replay_collect(replay, &left, &status));
  CHECK(replay_write_lasting(replay, &lasting, &status));
  CHECK(rig_step(&rig, 0, &status) && replay_read_lasting(replay, &seen, &status));
  CHECK_INT(seen.updates, 41);
  end();
}

int main(void) {
  TEST("a run may start before the host has read what the one before left; some of it lasts") {
    test_ahead(false);
    test_ahead(true);
  }
  test_edges();
  if (!HOSTILE_RUNS_ALONE) test_marks();
  test_edges_beside();
  test_beside();
  TEST("edges hold in a segment of more than 65,536 records, in every call") test_long_segment();
  if (!HOSTILE_RUNS_ALONE) {
    TEST("a lane that waits for a peer holds no other lane up") test_apart();
    TEST("a failure on one lane ends the others, and is the one that is reported") {
      test_failure(LANE_CP, LANE_COMPUTE);
      test_failure(LANE_COMPUTE, LANE_PP);
      test_failure(LANE_CP, LANE_PP);
      test_failure(LANE_PP, LANE_DP);
    }
  }
  CHECK_DONE();
}
