/* Clocks of lanes: loops whose iterations are left out, and what is handed out to a picture.
 * LINK: cost plan_builder base */
#include <stdlib.h>

#include "compiler/plan/simulate/cores.h"
#include "compiler/plan/simulate/simulate.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_sketch.h"

enum { SEGMENTS = 6, RECORDS_MOST = 4, LANES = 3, CALLS_BEFORE = 3 };

static uint32_t random_state;

static uint32_t below(uint32_t n) {
  random_state = random_state * 1664525 + 1013904223;
  return (random_state >> 8) % n;
}

/* ---- plans */

static void begin(Sketch *s) {
  sketch_begin(s);
  sketch_axis(s, "dp", 2);
  sketch_comm(s, 1);
}

/* An all-reduce of two ranks sends as many bytes as it has. */
static void all_reduce(Sketch *s, Lane lane, int64_t ns) {
  sketch_record(s, RECORD_ALL_REDUCE, lane, 0);
  sketch_operand(s, 0, (uint64_t)ns, DTYPE_F32, ACCESS_UPDATE);
}

/* A segment of one record that takes so long. */
static uint32_t single(Sketch *s, Lane lane, int64_t ns) {
  uint32_t segment = sketch_segment(s);
  sketch_kernel(s, "copy", lane)->predicted_ns = ns;
  return segment;
}

static void loop(Sketch *s, uint32_t first, uint32_t count, uint32_t times) {
  build_loops(&s->b, (PlanLoop){first, count, times, 1});
}

static void random_segments(Sketch *s, uint32_t *records) {
  for (uint32_t i = 0; i < SEGMENTS; i++) {
    sketch_segment(s);
    records[i] = 1 + below(RECORDS_MOST);
    for (uint32_t k = 0; k < records[i]; k++) {
      bool computes = below(2);
      Lane lane = (Lane)below(LANES);
      int64_t ns = below(4) == 0 ? 0 : below(60);
      if (computes)
        sketch_kernel(s, "copy", lane)->predicted_ns = ns;
      else
        all_reduce(s, lane, ns);
      if (k > 0 && below(2)) build_edge(&s->b, s->b.records_count - 1, below(k));
    }
  }
}

/* Calls that wait for any record of any earlier one; those of the loop, of the iteration before. */
static void random_plan(Sketch *s, uint32_t loop_calls, uint32_t times) {
  uint32_t records[SEGMENTS], segment[32], all = CALLS_BEFORE + loop_calls + 2;
  begin(s);
  random_segments(s, records);
  for (uint32_t c = 0; c < all; c++) {
    bool looped = c >= CALLS_BEFORE && c < CALLS_BEFORE + loop_calls;
    segment[c] = below(SEGMENTS);
    sketch_call(s, segment[c], looped ? (int32_t)(c % 3) : -1);
    for (uint32_t w = below(3); w > 0 && c > 0; w--) {
      uint32_t target = below(c);
      sketch_wait(s, (Lane)below(LANES), target, below(records[segment[target]]), 0);
    }
    if (looped && below(2)) sketch_wait(s, (Lane)below(LANES), c, below(records[segment[c]]), 1);
  }
  loop(s, CALLS_BEFORE, loop_calls, times);
  sketch_class(s, 0, 2);
  build_one_node(&s->b, 0, 1e9); /* a byte a nanosecond */
}

/* ---- who looks */

typedef struct Seen {
  int64_t end_ns[PLAN_LANES_MAX], busy_ns[PLAN_LANES_MAX];
  int32_t microbatch_last, calls;
  bool is_ordered;
} Seen;

static void take(void *state, const Stretch *stretch) {
  Seen *seen = state;
  seen->is_ordered &= stretch->start_ns >= seen->end_ns[stretch->lane] &&
                      stretch->end_ns >= stretch->start_ns && stretch->class == 0;
  seen->end_ns[stretch->lane] = stretch->end_ns;
  seen->busy_ns[stretch->lane] += stretch->end_ns - stretch->start_ns;
  if (stretch->microbatch > seen->microbatch_last) seen->microbatch_last = stretch->microbatch;
  seen->calls++;
}

static LaneTimes look(Arena *arena, const Plan *plan, Seen *seen) {
  *seen = (Seen){.microbatch_last = -1, .is_ordered = true};
  return *simulate_stretches(arena, plan, PROGRAM_TRAIN_STEP, &(StretchSink){take, seen});
}

static LaneTimes times_of(Arena *arena, const Sketch *s) {
  Plan plan = build_view(&s->b);
  return *simulate(arena, &plan, PROGRAM_TRAIN_STEP);
}

/* ---- tests */

static void check_random(uint32_t seed) {
  Arena *arena = arena_new();
  Sketch s;
  Seen seen;
  random_state = seed;
  uint32_t calls = 1 + below(5);
  random_plan(&s, calls, 1 + below(60));
  Plan plan = build_view(&s.b);
  LaneTimes short_way = times_of(arena, &s), whole = look(arena, &plan, &seen);
  int failures = check_failures;
  CHECK(seen.is_ordered && !whole.is_stuck && !short_way.is_stuck);
  CHECK_INT(short_way.span_ns, whole.span_ns);
  CHECK_INT(short_way.exposed_ns, whole.exposed_ns);
  CHECK_INT(whole.span_ns - whole.exposed_ns, whole.busy_ns[LANE_COMPUTE]);
  int64_t last_ns = 0;
  for (int lane = 0; lane < PLAN_LANES_MAX; lane++) {
    CHECK_INT(short_way.busy_ns[lane], whole.busy_ns[lane]);
    CHECK_INT(seen.busy_ns[lane], whole.busy_ns[lane]);
    if (seen.end_ns[lane] > last_ns) last_ns = seen.end_ns[lane];
  }
  CHECK_INT(last_ns, whole.span_ns);
  int64_t parts_ns = whole.parts.compute_ns + whole.parts.bubble_ns;
  for (int32_t axis = 0; axis <= PLAN_AXES_MAX; axis++)
    parts_ns += whole.parts.exposed_ns[axis];
  CHECK(parts_ns >= whole.busy_ns[LANE_COMPUTE] && parts_ns <= whole.span_ns);
  CHECK(memcmp(&short_way.parts, &whole.parts, sizeof whole.parts) == 0);
  const RankCores each_its_own = {0};
  LaneTimes by_time = *cores_simulate(arena, &plan, PROGRAM_TRAIN_STEP, &each_its_own, NULL);
  CHECK(!by_time.is_stuck);
  CHECK(memcmp(by_time.busy_ns, whole.busy_ns, sizeof whole.busy_ns) == 0);
  CHECK_INT(by_time.span_ns, whole.span_ns);
  if (check_failures > failures) printf("seed %u\n", seed);
  build_free(&s.b);
  arena_free(arena);
}

static void test_loops(void) {
  TEST("iterations that are left out take what they would have taken: 3000 random loops") {
    for (uint32_t seed = 1; seed <= 3000; seed++)
      check_random(seed);
  }
  TEST("lanes alone do not make a loop steady: what waits of the iteration before see counts too") {
    check_random(26029);
    check_random(42586);
    check_random(51285);
  }
  TEST("a steady loop is not walked to its end") {
    Arena *arena = arena_new();
    Sketch s;
    begin(&s);
    uint32_t compute = single(&s, LANE_COMPUTE, 7), reduce = single(&s, LANE_DP, 11);
    sketch_call(&s, compute, 0);
    sketch_wait(&s, LANE_COMPUTE, 1, 0, 1); /* what the last reduction reads is written now */
    sketch_call(&s, reduce, 0);
    sketch_wait(&s, LANE_DP, 0, 0, 0);
    loop(&s, 0, 2, 1U << 30); /* minutes and gigabytes, if it were */
    sketch_class(&s, 0, 2);
    LaneTimes times = times_of(arena, &s);
    CHECK_INT(times.span_ns, (7 + 11) * (1LL << 30));
    CHECK_INT(times.exposed_ns, 11 * (1LL << 30));
    CHECK_INT(times.busy_ns[LANE_DP], 11 * (1LL << 30));
    build_free(&s.b);
    arena_free(arena);
  }
}

/* All iterations, by the walk that shares cores, and those that it leaves out. */
static void check_long(uint32_t seed) {
  Arena *arena = arena_new();
  Sketch s;
  random_state = seed;
  random_plan(&s, 1 + below(5), 500 + below(500));
  Plan plan = build_view(&s.b);
  const RankCores cores = {.count = 2};
  const LaneTimes whole = *cores_walk(arena, &plan, PROGRAM_TRAIN_STEP, &cores, NULL, NULL);
  const LaneTimes times = *cores_simulate(arena, &plan, PROGRAM_TRAIN_STEP, &cores, NULL);
  const int failures = check_failures;
  CHECK_NEAR((double)times.span_ns, (double)whole.span_ns, 2e-2 * (double)whole.span_ns);
  CHECK_NEAR((double)times.parts.compute_ns, (double)whole.parts.compute_ns,
             2e-2 * (double)whole.parts.compute_ns + 200);
  if (check_failures > failures) printf("seed %u\n", seed);
  build_free(&s.b);
  arena_free(arena);
}

static void test_long(void) {
  TEST("where lanes share cores, iterations that are left out take what the last ones took") {
    for (uint32_t seed = 1; seed <= 100; seed++)
      check_long(seed);
  }
  TEST("so a loop of a thousand million iterations is walked as briefly") {
    Arena *arena = arena_new();
    Sketch s;
    begin(&s);
    sketch_call(&s, single(&s, LANE_COMPUTE, 7), 0);
    sketch_call(&s, single(&s, LANE_DP, 11), 0);
    sketch_wait(&s, LANE_DP, 0, 0, 0);
    loop(&s, 0, 2, 1U << 30);
    sketch_class(&s, 0, 2);
    Plan plan = build_view(&s.b);
    const RankCores each_its_own = {0};
    const LaneTimes times = *cores_simulate(arena, &plan, PROGRAM_TRAIN_STEP, &each_its_own, NULL);
    CHECK_NEAR((double)times.span_ns, 11 * 0x1p30, 1e3);
    build_free(&s.b);
    arena_free(arena);
  }
}

/* A lane that is late at first is caught up with by and by. */
static void test_late(void) {
  TEST("a loop that gets steady late is walked until then") {
    Arena *arena = arena_new();
    Sketch s;
    begin(&s);
    uint32_t gather = single(&s, LANE_DP, 1000), compute = single(&s, LANE_COMPUTE, 10);
    uint32_t reduce = single(&s, LANE_DP, 3);
    sketch_call(&s, gather, -1);
    sketch_call(&s, compute, 0);
    sketch_call(&s, reduce, 0);
    sketch_wait(&s, LANE_DP, 1, 0, 0);
    loop(&s, 1, 2, 1000);
    sketch_class(&s, 0, 2);
    LaneTimes times = times_of(arena, &s);
    CHECK_INT(times.span_ns, 1000 * 10 + 3);
    CHECK_INT(times.exposed_ns, 3);
    build_free(&s.b);
    arena_free(arena);
  }
}

static void test_handed_out(void) {
  TEST("every iteration is handed out, with its micro-batch") {
    Arena *arena = arena_new();
    Sketch s;
    Seen seen;
    begin(&s);
    uint32_t compute = single(&s, LANE_COMPUTE, 5);
    sketch_call(&s, compute, 0);
    sketch_call(&s, compute, 1);
    loop(&s, 1, 1, 998);
    sketch_call(&s, compute, -1);
    sketch_class(&s, 0, 2);
    Plan plan = build_view(&s.b);
    LaneTimes times = look(arena, &plan, &seen);
    CHECK_INT(seen.calls, 1000);
    CHECK_INT(seen.microbatch_last, 998);
    CHECK_INT(times.span_ns, 5000);
    build_free(&s.b);
    arena_free(arena);
  }
}

/* Two classes that each wait for what the other sends later. */
static void test_stuck(void) {
  TEST("classes that wait for each other are stuck, and the walk ends") {
    Arena *arena = arena_new();
    Sketch s;
    sketch_begin(&s);
    sketch_axis(&s, "pp", 2);
    sketch_comm(&s, 1);
    for (uint32_t c = 0; c < 2; c++) {
      for (uint32_t i = 0; i < 2; i++) {
        uint32_t segment = sketch_segment(&s);
        sketch_record(&s, RECORD_EXCHANGE, LANE_PP, 0);
        sketch_operand(&s, 0, 64, DTYPE_F32, i == 0 ? ACCESS_WRITE : ACCESS_READ);
        sketch_dim(&s, c == 0 ? 1 : -1);
        sketch_call(&s, segment, -1);
      }
      sketch_class(&s, c, c + 1);
    }
    build_one_node(&s.b, 2, 8e9); /* 64 bytes take 8 ns */
    Plan plan = build_view(&s.b);
    LaneTimes *times = simulate(arena, &plan, PROGRAM_TRAIN_STEP);
    CHECK(times[0].is_stuck && times[1].is_stuck);
    /* The other way round on one of them: it sends, and all goes on. */
    s.b.operands[s.b.operands_count - 2].access = ACCESS_READ;
    s.b.operands[s.b.operands_count - 1].access = ACCESS_WRITE;
    plan = build_view(&s.b);
    times = simulate(arena, &plan, PROGRAM_TRAIN_STEP);
    CHECK(!times[0].is_stuck && !times[1].is_stuck);
    CHECK_INT(times[0].span_ns, 20);
    build_free(&s.b);
    arena_free(arena);
  }
}

/* The same exchanges and all-reduces, seen by a class that is on one node and by one that is not.
 */
static void test_links(void) {
  TEST("a communication takes what the class's link to the communicator says") {
    Arena *arena = arena_new();
    Sketch s;
    sketch_begin(&s);
    sketch_axis(&s, "dp", 2), sketch_axis(&s, "tp", 4);
    sketch_comm(&s, 1), sketch_comm(&s, 2);
    uint32_t segment = sketch_segment(&s);
    sketch_record(&s, RECORD_ALL_REDUCE, LANE_COMPUTE, 1);
    sketch_operand(&s, 0, 400, DTYPE_F32, ACCESS_UPDATE);
    sketch_record(&s, RECORD_ALL_GATHER, LANE_COMPUTE, 1);
    sketch_operand(&s, 0, 400, DTYPE_F32, ACCESS_UPDATE);
    for (uint32_t c = 0; c < 2; c++) {
      sketch_call(&s, segment, -1);
      sketch_class(&s, c, c + 1);
    }
    build_one_node(&s.b, 0, 1e9);
    s.b.links[3].bytes_per_s = 5e8; /* of the second class and tp */
    s.b.links[3].latency_ns = 7;
    Plan plan = build_view(&s.b);
    LaneTimes *times = simulate(arena, &plan, PROGRAM_TRAIN_STEP);
    CHECK_INT(times[0].span_ns, 600 + 300); /* 2 x 3/4 and 3/4 of the bytes */
    CHECK_INT(times[1].span_ns, 2 * (600 + 300) + (6 + 3) * 7);
    plan.records = NULL; /* nothing but the record is looked at */
    PlanRecord record = s.b.records[0];
    CHECK_INT(price_ns(&plan, 1, &record), 1200 + 42);
    plan.links_count = 0;
    CHECK_INT(price_ns(&plan, 1, &record), 0);
    build_free(&s.b);
    arena_free(arena);
  }
}

/* The parts of the main lane: compute, waits for an axis, waits for another stage. */
static void test_parts(void) {
  TEST("waiting for a lane beside is exposed over the axis of what runs there") {
    Arena *arena = arena_new();
    Sketch s;
    begin(&s);
    uint32_t gather = sketch_segment(&s);
    all_reduce(&s, LANE_DP, 20);
    uint32_t compute = single(&s, LANE_COMPUTE, 7);
    sketch_call(&s, gather, -1);
    sketch_call(&s, compute, -1);
    sketch_call(&s, compute, -1);
    sketch_wait(&s, LANE_COMPUTE, 0, 0, 0);
    sketch_class(&s, 0, 2);
    build_one_node(&s.b, 0, 1e9);
    LaneTimes times = times_of(arena, &s);
    CHECK_INT(times.span_ns, 20 + 7);
    CHECK_INT(times.parts.compute_ns, 2 * 7);
    CHECK_INT(times.parts.exposed_ns[0], 20 - 7);
    CHECK_INT(times.parts.bubble_ns, 0);
    build_free(&s.b);
    arena_free(arena);
  }
  TEST("a stage that waits for the one before it has a bubble, beyond what the bytes take") {
    Arena *arena = arena_new();
    Sketch s;
    sketch_begin(&s);
    sketch_axis(&s, "pp", 2);
    sketch_comm(&s, 1);
    for (uint32_t c = 0; c < 2; c++) {
      if (c == 0) sketch_call(&s, single(&s, LANE_COMPUTE, 30), -1);
      uint32_t exchange = sketch_segment(&s);
      sketch_record(&s, RECORD_EXCHANGE, LANE_COMPUTE, 0);
      sketch_operand(&s, 0, 64, DTYPE_F32, c == 0 ? ACCESS_READ : ACCESS_WRITE);
      sketch_dim(&s, c == 0 ? 1 : -1);
      sketch_call(&s, exchange, -1);
      if (c == 1) sketch_call(&s, single(&s, LANE_COMPUTE, 5), -1);
      sketch_class(&s, c, c + 1);
    }
    build_one_node(&s.b, 0, 8e9); /* 64 bytes take 8 ns */
    Plan plan = build_view(&s.b);
    LaneTimes *times = simulate(arena, &plan, PROGRAM_TRAIN_STEP);
    CHECK_INT(times[0].parts.compute_ns, 30);
    CHECK_INT(times[0].parts.exposed_ns[0], 8);
    CHECK_INT(times[0].parts.bubble_ns, 0);
    CHECK_INT(times[1].span_ns, 30 + 8 + 5);
    CHECK_INT(times[1].parts.compute_ns, 5);
    CHECK_INT(times[1].parts.exposed_ns[0], 8);
    CHECK_INT(times[1].parts.bubble_ns, 30);
    build_free(&s.b);
    arena_free(arena);
  }
}

/* Two stages run one segment; the ranks of the second are on two nodes, with fast links inside. */
static void test_classes(void) {
  TEST("a class whose link crosses other nodes is simulated by itself") {
    Arena *arena = arena_new();
    Sketch s;
    sketch_begin(&s);
    sketch_axis(&s, "pp", 2);
    sketch_axis(&s, "dp", 4);
    sketch_comm(&s, 2);
    const uint32_t segment = sketch_segment(&s);
    all_reduce(&s, LANE_COMPUTE, 64);
    for (uint32_t c = 0; c < 2; c++) {
      sketch_call(&s, segment, -1);
      sketch_class(&s, c, c + 1);
    }
    build_one_node(&s.b, 1000, 8e9);
    for (uint32_t c = 0; c < 2; c++)
      s.b.links[c].inside_latency_ns = 10, s.b.links[c].node_members = 4 >> c;
    Plan plan = build_view(&s.b);
    LaneTimes *times = simulate(arena, &plan, PROGRAM_TRAIN_STEP);
    for (uint32_t c = 0; c < 2; c++)
      CHECK_INT(times[c].span_ns, price_ns(&plan, c, &plan.records[0]));
    CHECK(times[0].span_ns > times[1].span_ns);
    build_free(&s.b);
    arena_free(arena);
  }
}

/* Work of 100 on the main lane, then of `tail` beside it, which the next run's second call waits
 * for. */
static void follows(Sketch *s, int64_t tail, bool waits) {
  begin(s);
  const uint32_t first = single(s, LANE_COMPUTE, 40), second = single(s, LANE_COMPUTE, 60);
  const uint32_t beside = single(s, LANE_DP, tail);
  sketch_call(s, first, -1);
  sketch_call(s, second, -1);
  if (waits) sketch_wait(s, LANE_COMPUTE, 2, 0, 0);
  if (waits) s->b.waits[s->b.waits_count - 1].run_back = 1;
  if (waits) s->b.waits[s->b.waits_count - 1].program = PROGRAM_TRAIN_STEP;
  sketch_call(s, beside, -1);
  sketch_wait(s, LANE_DP, 1, 0, 0);
  sketch_class(s, 0, 2);
  build_one_node(&s->b, 0, 1e9);
}

static void test_seam(void) {
  static const struct {
    int64_t tail, span, exposed;
    bool waits;
  } cases[] = {{30, 100, 0, true}, {40, 100, 0, true}, {70, 130, 30, true}, {70, 170, 70, false}};
  TEST("a program that follows itself takes as long as its main lane, and what it waits for")
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Arena *arena = arena_new();
    Sketch s;
    follows(&s, cases[i].tail, cases[i].waits);
    const LaneTimes times = times_of(arena, &s);
    CHECK_INT(times.span_ns, cases[i].span);
    CHECK_INT(times.exposed_ns, cases[i].exposed);
    CHECK_INT(times.parts.compute_ns, 100);
    CHECK_INT(times.busy_ns[LANE_DP], cases[i].tail);
    build_free(&s.b);
    arena_free(arena);
  }
}

int main(void) {
  test_classes();
  test_seam();
  test_parts();
  test_links();
  test_loops();
  test_late();
  test_long();
  test_handed_out();
  test_stuck();
  CHECK_DONE();
}
