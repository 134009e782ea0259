/* Options of a run that come from the settings of the plan or from the environment.
 * LINK: runtime plan_builder */
#include <stdlib.h>

#include "runtime/plan/schedule.h"
#include "runtime/rank/rank_state.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

static bool is_deterministic(bool said) {
  PlanBuilder builder = {0};
  build_string(&builder, "");
  build_job(&builder, (BuildJob){.deterministic = said});
  const Plan plan = build_view(&builder);
  bool is = run_defaults(&plan).deterministic;
  build_free(&builder);
  return is;
}

/* The control values that a step sets: masks of dropout and random rounding are keyed by its
 * number. */
static void check_control(void) {
  static Rank rank;
  PlanBuilder builder = {0};
  build_string(&builder, "");
  build_job(&builder, (BuildJob){0});
  const Plan plan = build_view(&builder);
  rank.plan = &plan;
  for (int64_t step = 0; step < 4; step++) {
    const Control in = rank_control_in(&rank, step);
    CHECK_INT(in.step, step);
    CHECK(in.lr == schedule_lr(&plan, step));
    CHECK(in.seed == job_seed(&plan));
  }
  build_free(&builder);
}

int main(void) {
  TEST("a step has its own number, learning rate and the job's seed") check_control();
  TEST("train.deterministic comes with the plan") {
    (void)unsetenv("LOCKSTEP_DETERMINISTIC");
    CHECK(is_deterministic(true));
    CHECK(!is_deterministic(false));
  }
  TEST("the environment adds it, and 0 adds nothing") {
    (void)setenv("LOCKSTEP_DETERMINISTIC", "1", 1);
    CHECK(is_deterministic(false));
    (void)setenv("LOCKSTEP_DETERMINISTIC", "0", 1);
    CHECK(!is_deterministic(false));
    CHECK(is_deterministic(true));
  }
  CHECK_DONE();
}
