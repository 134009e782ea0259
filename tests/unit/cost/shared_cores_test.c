/* Lanes that run on the same cores: how much longer each of them takes.
 * LINK: cost plan_builder base */
#include "compiler/plan/simulate/cores.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_sketch.h"

enum { MS = 1000000 };

/* The others of plans with files. */
static void add_lanes(PlanBuilder *b) {
#define ADD_LANE(id, name, priority, of)                                                           \
  if ((int)LANE_##id >= (int)LANES_OF_DEVICE)                                                      \
    build_lanes(b, (PlanLane){PROCESSOR_##of, priority, build_string(b, name)});
  LANES(ADD_LANE)
#undef ADD_LANE
}

/* A kernel of 12 ms, and beside it a record of another lane that takes 6 ms alone. */
static LaneTimes beside(RecordKind kind, Lane lane, uint64_t bytes, const RankCores *cores) {
  Arena *arena = arena_new();
  Sketch s;
  sketch_begin(&s);
  sketch_axis(&s, "dp", 1);
  add_lanes(&s.b);
  const uint32_t kernel = sketch_segment(&s);
  sketch_kernel(&s, "copy", LANE_COMPUTE)->predicted_ns = 12 * MS;
  sketch_newest(&s)->bytes = 12 * MS;
  const uint32_t other = sketch_segment(&s);
  PlanRecord *record = kind == RECORD_KERNEL ? sketch_kernel(&s, "copy", lane)
                                             : sketch_record(&s, kind, lane, PLAN_NONE);
  record->predicted_ns = 6 * MS;
  record->bytes = (int64_t)(2 * bytes);
  sketch_operand(&s, 0, bytes, DTYPE_F32, ACCESS_READ);
  sketch_call(&s, kernel, -1);
  sketch_call(&s, other, -1);
  sketch_class(&s, 0, 1);
  Plan plan = build_view(&s.b);
  const LaneTimes times = *cores_simulate(arena, &plan, PROGRAM_TRAIN_STEP, cores, NULL);
  build_free(&s.b);
  arena_free(arena);
  return times;
}

static void check_near(int64_t ns, double ms) {
  CHECK_NEAR((double)ns / MS, ms, 1e-2);
}

int main(void) {
  TEST("a copy takes a whole core for a slice, then two thirds of one beside two threads") {
    const LaneTimes times = beside(RECORD_COPY, LANE_D2H, 1000, &(RankCores){.count = 2});
    check_near(times.busy_ns[LANE_D2H], 3 + 3 * 1.5);
    check_near(times.busy_ns[LANE_COMPUTE], 12 + 6 / 2.);
  }
  TEST("an update of the host has as many threads as the kernel") {
    const LaneTimes times = beside(RECORD_KERNEL, LANE_HOST, 1000, &(RankCores){.count = 2});
    check_near(times.busy_ns[LANE_HOST], 3 + 3 * 2);
    check_near(times.span_ns, 12 + 6);
  }
  TEST("files take the part of a core that passes over their bytes need") {
    const RankCores cores = {.count = 2, .copied_per_s = 1e9, .passes = 2};
    const LaneTimes times = beside(RECORD_READ, LANE_FILE, 1500000, &cores);
    check_near(times.busy_ns[LANE_FILE], 6);
    check_near(times.span_ns, 12 + 2 * 1.5 / 2); /* two passes of 1.5 ms of one core of two */
  }
  TEST("on many cores memory is what lanes share") {
    const RankCores cores = {.count = 1000, .bytes_per_s = 1.5e9};
    const LaneTimes times = beside(RECORD_COPY, LANE_D2H, 3000000, &cores);
    check_near(times.busy_ns[LANE_D2H], 6 / 0.75); /* a byte a nanosecond each, of 1.5 */
    check_near(times.busy_ns[LANE_COMPUTE], 8 + 6);
  }
  CHECK_DONE();
}
