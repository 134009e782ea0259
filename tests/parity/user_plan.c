#include "tests/parity/user_plan.h"

#include "compiler/search/fit.h"
#include "runtime/plan/plan_io.h"

static void print_errors(const Diags *diags, const char *way, FILE *out) {
  for (int32_t i = 0; i < diags->list.count; i++) {
    const Diag *diag = &diags->list.at[i];
    if (diag->severity == SEVERITY_ERROR)
      fprintf(out, "%s: %s: %s\n", way, diag->name, diag->message);
  }
}

UserPlanEnd user_plan(const char *job_path, const char *plan_path, const char *way, FILE *out,
                      Plan *plan) {
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  char why[PLAN_WHY_BYTES] = "";
  Compile *c = compile_new(SPECS_FOLDER);
  Job *job = spec_load(c, job_path, NULL, 0);
  Compiled compiled = {0};
  UserPlanEnd end = USER_PLAN_REFUSED;
  if (job != NULL && fit_plan(c, job, &machine, &compiled)) end = USER_PLAN_DONE;
  if (way == NULL)
    diags_print(&c->diags, out, false);
  else
    print_errors(&c->diags, way, out);
  if (end == USER_PLAN_DONE &&
      !(plan_write(&compiled.plan, plan_path, why) && plan_open(plan, plan_path, why))) {
    printf("%s: %s\n", plan_path, why);
    end = USER_PLAN_DEFECT;
  }
  if (c->is_defect) end = USER_PLAN_DEFECT;
  compile_free(c);
  return end;
}
