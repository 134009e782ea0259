#include "tests/parity/job_plan.h"

#include <stdio.h>

#include "compiler/job/data.h"
#include "compiler/plan/prove/prove.h"
#include "compiler/search/fit.h"
#include "runtime/plan/plan_io.h"

static bool compile_file(Compile *c, const char *path, const JobChanges *changes, Compiled *out) {
  int32_t count = 0;
  while (count < JOB_CHANGES_MAX && changes->text[count])
    count++;
  Job *job = spec_load(c, path, changes->text, count);
  if (!job || !spec_data(c, job)) return false;
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  return fit_plan(c, job, &machine, out);
}

static bool is_proven(const Plan *plan) {
  static ProveReport report;
  if (prove(plan, &report)) return true;
  for (uint32_t i = 0; i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
    printf("prove: %s\n", report.finding[i]);
  return false;
}

bool job_plan(const char *name, const JobChanges *changes, const char *plan_path, Plan *plan) {
  char path[JOB_PATH_BYTES], why[PLAN_WHY_BYTES] = "";
  (void)snprintf(path, sizeof path, "%s/jobs/%s.lua", PARITY_FOLDER, name);
  Compile *c = compile_new(SPECS_FOLDER);
  Compiled compiled = {0};
  bool done = compile_file(c, path, changes, &compiled);
  fflush(stdout);
  diags_print(&c->diags, stdout, false);
  done = done && is_proven(&compiled.plan) && plan_write(&compiled.plan, plan_path, why);
  compile_free(c);
  done = done && plan_open(plan, plan_path, why);
  if (why[0]) printf("%s\n", why);
  return done;
}
