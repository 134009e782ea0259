/* Options of a run that come from the settings of the plan or from the environment.
 * LINK: runtime plan_builder */
#include <stdlib.h>

#include "runtime/rank/run.h"
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

int main(void) {
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
