#include "tests/parity/job_compile.h"

#include "compiler/job/data.h"
#include "compiler/search/fit.h"
#include "runtime/plan/plan_io.h"

static bool compile_file(JobCompile *job, const char *path, JobUse use) {
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  Compile *c = job->compile;
  Job *read = spec_load(c, path, NULL, 0);
  if (read && use == USE_SAMPLE) {
    read->use = use;
    read->draw = (DrawOptions){
        .temperature = 1, .top_p = 1, .prompt_tokens = 5, .tokens = 8, .sequences = 3};
    read->data.train.count = read->data.valid.count = 0;
    read->origin[FIELD_train_context].kind = read->origin[FIELD_train_microbatch].kind =
        ORIGIN_DEFAULT;
  }
  return read && spec_data(c, read) && fit_plan(c, read, &machine, &job->compiled);
}

static const char *first_error(const Diags *diags) {
  for (int32_t i = 0; i < diags->list.count; i++)
    if (diags->list.at[i].severity == SEVERITY_ERROR) return diags->list.at[i].name;
  return "";
}

bool job_compile(JobCompile *job, const char *path, const char *plan_path, const char **error) {
  return job_compile_use(job, path, plan_path, USE_TRAIN, error);
}

bool job_compile_use(JobCompile *job, const char *path, const char *plan_path, JobUse use,
                     const char **error) {
  *job = (JobCompile){.compile = compile_new(SPECS_FOLDER)};
  char why[PLAN_WHY_BYTES] = "";
  bool compiled = compile_file(job, path, use);
  *error = first_error(&job->compile->diags);
  if (job->compile->is_defect) diags_print(&job->compile->diags, stdout, false);
  if (!compiled) return false;
  bool mapped =
      plan_write(&job->compiled.plan, plan_path, why) && plan_open(&job->plan, plan_path, why);
  if (!mapped) printf("%s: %s\n", plan_path, why);
  return mapped;
}

void job_compile_close(JobCompile *job) {
  plan_close(&job->plan);
  compile_free(job->compile);
  *job = (JobCompile){0};
}
