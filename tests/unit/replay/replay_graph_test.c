/* Which runs of a program are graphs: the same on all ranks, for NCCL asks that of the calls in
 * them.
 * LINK: runtime plan_builder */
#include "runtime/replay/replay_graph.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_sketch.h"

enum { CLASSES = 2 };

static Sketch sketch;

/* Two classes, of which the second runs one record so often. */
static Plan make_plan(uint32_t times) {
  sketch_begin(&sketch);
  sketch_axis(&sketch, "pp", CLASSES);
  uint32_t segment = sketch_segment(&sketch);
  sketch_kernel(&sketch, "affine", LANE_COMPUTE);
  sketch_call(&sketch, segment, 0);
  sketch_class(&sketch, 0, 1);
  sketch_call(&sketch, segment, 0);
  build_loops(&sketch.b, (PlanLoop){0, 1, times, 1});
  sketch_class(&sketch, 1, CLASSES);
  build_word(&sketch.b, JOB_staging_tier, "host");
  return build_view(&sketch.b);
}

/* True if a program's run is a graph that so many runs have come before. */
static bool fits(const Plan *plan, uint32_t number, int64_t runs) {
  Replay replay = {.setup = {.plan = plan, .graphs = true}};
  replay.graph[PROGRAM_TRAIN_STEP].runs = runs;
  return replay_graph_fits(&replay, &plan->programs[number]);
}

int main(void) {
  if (HOSTILE_RUNS_ALONE) return 77; /* no run is a graph there */
  TEST("all runs but the first are graphs where none is too large") {
    Plan plan = make_plan(REPLAY_GRAPH_NODES_MAX);
    for (uint32_t number = 0; number < CLASSES; number++) {
      CHECK(!fits(&plan, number, 0));
      CHECK(fits(&plan, number, 1));
    }
    build_free(&sketch.b);
  }
  TEST("where one rank's step is too large, those of the others are issued, too") {
    Plan plan = make_plan(REPLAY_GRAPH_NODES_MAX + 1);
    for (uint32_t number = 0; number < CLASSES; number++)
      CHECK(!fits(&plan, number, 1));
    build_free(&sketch.b);
  }
  CHECK_DONE();
}
