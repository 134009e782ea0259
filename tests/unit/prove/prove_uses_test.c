/* LINK: job_plan plan_builder plan
 * Plans that only evaluate: they are proven as compiled, and refused with anything of training. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/data.h"
#include "compiler/job/source.h"
#include "compiler/plan/prove/prove.h"
#include "compiler/search/fit.h"
#include "tests/unit/check.h"
#include "tests/unit/findings.h"
#include "tests/unit/plan_builder.h"

static PlanBuilder b;
static ProveReport report;

static void write_tokens(const char *path) {
  FILE *file = fopen(path, "wb");
  for (int i = 0; file != NULL && i < 500; i++)
    fputc(i % 64, file);
  if (file == NULL || fclose(file) != 0) abort();
}

/* A GPT-2 in two stages. */
static void begin(void) {
  char path[] = "/tmp/lockstep_use.XXXXXX", valid[64];
  close(mkstemp(path));
  write_tokens(path);
  (void)snprintf(valid, sizeof valid, "data.valid=%s", path);
  const char *const settings[] = {
      "model={\"gpt2\", layers=2, width=16, heads=2, vocab=64, positions=16}",
      valid,
      "data.format=u8",
      "train.microbatch=2",
      "cluster={\"here\", devices=2}",
      "parallel.pp=2"};
  const JobSource source = {
      USE_EVAL, {.tokens = 0}, "a model", settings, sizeof settings / sizeof *settings};
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  Compile *c = compile_new(SPECS_FOLDER);
  Compiled *compiled = ARENA_NEW(c->arena, Compiled);
  Job *job = spec_load_source(c, &source, NULL, 0);
  if (job == NULL || !spec_data(c, job) || !fit_plan(c, job, &machine, compiled)) {
    diags_print(&c->diags, stdout, false);
    exit(1);
  }
  (void)unlink(path);
  build_free(&b);
  build_copy(&b, &compiled->plan);
  compile_free(c);
}

static void expect_finding(const char *words) {
  Plan plan = build_view(&b);
  CHECK(!prove(&plan, &report));
  findings_expect(&report, words);
}

static void holds_weights_alone(void) {
  begin();
  Plan plan = build_view(&b);
  CHECK(prove(&plan, &report));
  CHECK(!plan_trains(&plan));
  for (uint32_t i = 0; i < plan.tensors_count; i++)
    CHECK(plan.tensors[i].kind == BUFFER_PARAM);
  for (uint32_t i = 0; i < plan.buffers_count; i++)
    CHECK(plan.buffers[i].kind != BUFFER_GRAD && plan.buffers[i].kind != BUFFER_MOMENT1);
}

static void refuses_states(void) {
  begin();
  b.tensors[0].kind = BUFFER_MASTER;
  expect_finding("nothing is trained, and there is master");
}

/* The model is that of a program which the plan lacks. */
static void refuses_regions_of_training(void) {
  begin();
  for (uint32_t i = 0; i < b.regions_count; i++)
    b.regions[i].program = PROGRAM_TRAIN_STEP;
  expect_finding("has no gradient");
}

/* A class without the program that the others have. */
static void refuses_a_class_without_it(void) {
  begin();
  b.classes[1].programs_count = 1;
  b.classes[1].buffers_count = 0;
  for (uint32_t i = 0; i < b.buffers_count; i++)
    b.buffers[i].program = b.buffers[i].program == 3 ? PLAN_NONE : b.buffers[i].program;
  expect_finding("has no eval_step, or alone has one");
}

/* The loss of one stage alone. */
static void refuses_a_loss_of_one_rank(void) {
  begin();
  for (uint32_t i = 0; i < b.records_count; i++)
    if (b.records[i].kind == RECORD_ALL_REDUCE) b.records[i].when_all = CALL_FIRST_LAYER;
  expect_finding("control values are of one rank alone");
}

int main(void) {
  holds_weights_alone();
  refuses_states();
  refuses_regions_of_training();
  refuses_a_class_without_it();
  refuses_a_loss_of_one_rank();
  build_free(&b);
  CHECK_DONE();
}
