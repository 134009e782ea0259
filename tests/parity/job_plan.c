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

static bool compile_name(Compile *c, const char *name, const JobChanges *changes, Compiled *out) {
  char path[JOB_PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/jobs/%s.lua", PARITY_FOLDER, name);
  const bool done = compile_file(c, path, changes, out);
  fflush(stdout);
  diags_print(&c->diags, stdout, false);
  return done;
}

bool job_plan_look(const char *name, const JobChanges *changes, JobPlanLook *look, void *context) {
  Compile *c = compile_new(SPECS_FOLDER);
  Compiled compiled = {0};
  const bool done = compile_name(c, name, changes, &compiled);
  if (done) look(&compiled.plan, context);
  compile_free(c);
  return done;
}

bool job_plan(const char *name, const JobChanges *changes, const char *plan_path, Plan *plan) {
  char why[PLAN_WHY_BYTES] = "";
  Compile *c = compile_new(SPECS_FOLDER);
  Compiled compiled = {0};
  bool done = compile_name(c, name, changes, &compiled);
  done = done && is_proven(&compiled.plan) && plan_write(&compiled.plan, plan_path, why);
  compile_free(c);
  done = done && plan_open(plan, plan_path, why);
  if (why[0]) printf("%s\n", why);
  return done;
}
