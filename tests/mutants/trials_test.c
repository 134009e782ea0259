/* trials_test.c -- what trials rest on: a rank goes on from the state of the rank that writes for
 * it, whatever the order of ranks; and plans for GPUs are tried with fused kernels. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/common/folder.h"
#include "tests/mutants/strategies.h"
#include "tests/mutants/trial.h"
#include "tests/unit/check.h"

enum { LIMIT_S = 30 };

static char folder[TEST_FOLDER_BYTES];

static Trial trial_of(const char *parallel, int devices, const char *more) {
  const Strategy strategy = {"trial", "gpt2", devices, parallel, more};
  JobCompile job;
  Trial trial = {.end = TRIAL_REFUSED};
  const bool compiled = strategy_compile(&strategy, folder, &job);
  CHECK(compiled);
  if (compiled) trial = trial_run(&job.plan, &job.plan, (TrialHow){.limit_s = LIMIT_S});
  CHECK_INT(trial.end, TRIAL_DONE);
  job_compile_close(&job);
  return trial;
}

int main(void) {
  if (!test_folder(folder, "trials")) return 1;
  TEST("ranks in another order go on from the same state") {
    const Trial usual = trial_of("dp = 2, tp = 2, pp = 2, zero = 1", 8, "");
    const Trial other =
        trial_of("dp = 2, tp = 2, pp = 2, zero = 1, order = \"dp tp cp pp\"", 8, "");
    CHECK(usual.loss == other.loss);
    CHECK(usual.norm == other.norm);
  }
  TEST("plans for GPUs run with fused kernels") {
    const Trial alone = trial_of("dp = 4, tp = 2, sequence = true", 8, "");
    const Trial gpus = trial_of("dp = 4, tp = 2, sequence = true", 8, "cluster = \"dgx-h100\", ");
    CHECK_NEAR(gpus.loss, alone.loss, 1e-4 * alone.loss);
    CHECK(gpus.fused > 0);
  }
  (void)rmdir(folder);
  CHECK_DONE();
}
