/* Options of a run that come from the settings of the plan or from the environment.
 * LINK: runtime */
#include <stdlib.h>
#include <string.h>

#include "runtime/rank/run.h"
#include "tests/unit/check.h"

static const char strings[] = "\0train.deterministic\0true\0false";

static bool is_deterministic(uint32_t value) {
  PlanJob job = {0};
  PlanSetting setting = {.key = 1, .value = value};
  Plan plan = {.jobs = &job, .jobs_count = 1, .settings = &setting, .settings_count = 1};
  plan.strings = strings;
  return run_defaults(&plan).deterministic;
}

int main(void) {
  enum { TRUE_AT = 21, FALSE_AT = 26 };
  CHECK(strcmp(strings + TRUE_AT, "true") == 0 && strcmp(strings + FALSE_AT, "false") == 0);
  TEST("train.deterministic comes with the plan") {
    (void)unsetenv("LOCKSTEP_DETERMINISTIC");
    CHECK(is_deterministic(TRUE_AT));
    CHECK(!is_deterministic(FALSE_AT));
  }
  TEST("the environment adds it, and 0 adds nothing") {
    (void)setenv("LOCKSTEP_DETERMINISTIC", "1", 1);
    CHECK(is_deterministic(FALSE_AT));
    (void)setenv("LOCKSTEP_DETERMINISTIC", "0", 1);
    CHECK(!is_deterministic(FALSE_AT));
    CHECK(is_deterministic(TRUE_AT));
  }
  CHECK_DONE();
}
