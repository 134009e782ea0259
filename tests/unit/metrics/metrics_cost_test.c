/* The cost of a start of a run: hours of GPUs, cores and nodes, and money where it is known.
 * LINK: runtime plan_builder */
#include <math.h>

#include "runtime/metrics/cost.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

int main(void) {
  static const GpuFacts gpu;
  PlanBuilder builder = {0};
  build_string(&builder, "");
  build_job(&builder, (BuildJob){.target = TARGET_CUDA, .threads = 2});
  Plan plan = build_view(&builder);
  ReportSetup setup = {.plan = &plan, .ranks = 16, .nodes = 2, .node_price = 98};
  setup.cores_wanted = setup.cores_allowed = 32;
  TEST("GPU-hours of all ranks, node-hours, and the price of nodes") {
    setup.gpu = &gpu;
    RunCost cost = cost_of(&setup, 1800);
    CHECK_NEAR(cost.gpu_hours, 8, 1e-12);
    CHECK_NEAR(cost.node_hours, 1, 1e-12);
    CHECK_NEAR(cost.dollars, 98, 1e-12);
    CHECK(isnan(cost.core_hours));
  }
  TEST("a plan for GPUs on processors has core-hours, and no price") {
    setup.gpu = NULL;
    RunCost cost = cost_of(&setup, 1800);
    CHECK_NEAR(cost.core_hours, 16, 1e-12);
    CHECK(isnan(cost.gpu_hours) && isnan(cost.dollars));
  }
  TEST("ranks that share cores are counted by cores") {
    build_word(&builder, JOB_target, "cpu");
    plan = build_view(&builder);
    setup.nodes = 1;
    setup.cores_allowed = 2;
    RunCost cost = cost_of(&setup, 3600);
    CHECK_NEAR(cost.core_hours, 2, 1e-12);
    CHECK_NEAR(cost.dollars, 98, 1e-12);
  }
  TEST("the longest stage is expected, on what the plan is for") {
    PlanProgram programs[] = {{.kind = PROGRAM_TRAIN_STEP, .predicted_ns = 2000000000},
                              {.kind = PROGRAM_EVAL_STEP, .predicted_ns = 9000000000},
                              {.kind = PROGRAM_TRAIN_STEP, .predicted_ns = 3000000000}};
    plan.programs = programs;
    plan.programs_count = 3;
    CHECK_NEAR(expected_step_s(&setup), 3, 1e-12);
    build_word(&builder, JOB_target, "cuda");
    Plan of_gpus = build_view(&builder);
    of_gpus.programs = programs;
    of_gpus.programs_count = 3;
    setup.plan = &of_gpus;
    CHECK_NEAR(expected_step_s(&setup), 0, 0);
    setup.gpu = &gpu;
    CHECK_NEAR(expected_step_s(&setup), 3, 1e-12);
    setup.plan = &plan;
    plan.programs_count = 0;
  }
  TEST("without a price there is no cost") {
    setup.node_price = NAN;
    CHECK(isnan(cost_of(&setup, 3600).dollars));
  }
  build_free(&builder);
  CHECK_DONE();
}
