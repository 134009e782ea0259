/* rotation_test.c -- the steady state of a pipeline is one round in a loop: a plan does not grow
 * with micro-batches, and a step is bitwise what gpipe makes of it, whose plan has no loop. Both
 * add up gradients in the order of micro-batches. */
#include <string.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { STEPS = 3, CONTEXT = 32, VOCAB = 64, TOKENS = 64 * CONTEXT * STEPS };

static char folder[64];

typedef struct Case {
  const char *pipeline;
  const char *batch, *longer; /* of several rounds, and of more that every stage has whole */
  JobChanges others;
} Case;

#define JOB(...)                                                                                   \
  {                                                                                                \
    { __VA_ARGS__ }                                                                                \
  }

static const Case cases[] = {
    {"1f1b", "16 sequences", "40 sequences", JOB("cluster.devices=2", "parallel.pp=2")},
    {"1f1b", "24 sequences", "48 sequences",
     JOB("cluster.devices=4", "parallel.pp=4", "model.layers=4")},
    {"1f1b", "16 sequences", "40 sequences",
     JOB("cluster.devices=2", "parallel.pp=2", "memory.recompute=block", "precision=bf16")},
    {"1f1b", "32 sequences", "80 sequences",
     JOB("cluster.devices=4", "parallel.pp=2", "parallel.zero=3")},
    {"1f1b", "16 sequences", "40 sequences",
     JOB("cluster.devices=4", "parallel.pp=2", "parallel.tp=2", "model.dropout=0.1")},
    {"zb-h1", "24 sequences", "48 sequences", JOB("cluster.devices=2", "parallel.pp=2")},
    {"zb-v", "24 sequences", "48 sequences",
     JOB("cluster.devices=2", "parallel.pp=2", "model.layers=4")},
};

static bool plan_case(const Case *c, const char *pipeline, const char *batch, Plan *plan) {
  static char data[128], log_dir[128], path[128], batch_text[64], pipeline_text[64];
  (void)snprintf(data, sizeof data, "data.train=%s/tokens.u8", folder);
  (void)snprintf(log_dir, sizeof log_dir, "log.dir=%s/run", folder);
  (void)snprintf(path, sizeof path, "%s/job.plan", folder);
  (void)snprintf(batch_text, sizeof batch_text, "train.batch=%s", batch);
  (void)snprintf(pipeline_text, sizeof pipeline_text, "parallel.pipeline=%s", pipeline);
  JobChanges changes = {{"data=tokens", data, "data.format=u8", log_dir, batch_text, pipeline_text,
                         "train.microbatch=1", "train.steps=3", "checkpoint.resume=never"}};
  for (int32_t from = 0, to = 9; c->others.text[from] != NULL; from++)
    changes.text[to++] = c->others.text[from];
  bool planned = job_plan("gpt2", &changes, path, plan);
  CHECK(planned);
  return planned;
}

static void run_case(const Plan *plan, RunRecord *record) {
  char run[80];
  (void)snprintf(run, sizeof run, "%s/run", folder);
  job_folder_remove(run);
  CHECK(job_run(plan, 0, record));
  CHECK_INT(record->last_step, STEPS);
}

/* zb-v adds both uses of a tied weight up on one stage: the same summands, in another order. */
static double tolerance_of(const Case *c) {
  return strcmp(c->pipeline, "zb-v") == 0 ? 1e-5 : 0;
}

static void check_results(const Case *c) {
  static RunRecord rounds, straight;
  Plan plan;
  if (!plan_case(c, c->pipeline, c->batch, &plan)) return;
  CHECK_INT(plan.loops_count, plan.classes_count);
  run_case(&plan, &rounds);
  plan_close(&plan);
  if (!plan_case(c, "gpipe", c->batch, &plan)) return;
  CHECK_INT(plan.loops_count, 0);
  run_case(&plan, &straight);
  plan_close(&plan);
  for (int64_t step = 1; step <= STEPS; step++) {
    CHECK_NEAR(rounds.loss[step], straight.loss[step], tolerance_of(c));
    CHECK_NEAR(rounds.norm[step], straight.norm[step], tolerance_of(c));
  }
}

static void check_size(const Case *c) {
  Plan some, more;
  if (!plan_case(c, c->pipeline, c->batch, &some)) return;
  uint32_t calls = some.calls_count, buffers = some.buffers_count, posts = some.posts_count;
  plan_close(&some);
  if (!plan_case(c, c->pipeline, c->longer, &more)) return;
  CHECK_INT(more.calls_count, calls);
  CHECK_INT(more.buffers_count, buffers);
  CHECK_INT(more.posts_count, posts);
  plan_close(&more);
}

static bool is_proven(const PlanBuilder *builder) {
  Plan plan = build_view(builder);
  char why[PLAN_WHY_BYTES];
  ProveReport report;
  return plan_check(&plan, why) && prove(&plan, &report);
}

/* The first transfer in a loop. */
static PlanPost *first_post(const PlanBuilder *builder) {
  const PlanProgram *program = builder->programs;
  while (program->loops_count == 0)
    program++;
  const PlanCall *call =
      builder->calls + program->calls_first + builder->loops[program->loops_first].first_call;
  while (call->posts_count == 0)
    call++;
  return &builder->posts[call->posts_first];
}

/* The transfers of a loop are compared with those of the other stage, in every round. */
static void check_refused(const Case *c) {
  Plan plan;
  if (!plan_case(c, c->pipeline, c->batch, &plan)) return;
  PlanBuilder builder;
  build_copy(&builder, &plan);
  for (uint32_t i = 0; i < builder.loops_count; i++) {
    PlanLoop was = builder.loops[i];
    builder.loops[i].microbatch_stride++;
    CHECK(!is_proven(&builder));
    builder.loops[i] = was;
    builder.loops[i].times--;
    CHECK(!is_proven(&builder));
    builder.loops[i] = was;
  }
  CHECK(is_proven(&builder));
  PlanPost *post = first_post(&builder);
  post->microbatch = INT32_MAX;
  Plan late = build_view(&builder);
  char why[PLAN_WHY_BYTES] = "";
  CHECK(!plan_check(&late, why) && strstr(why, "micro-batch numbers overflow") != NULL);
  build_free(&builder);
  plan_close(&plan);
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_rotation_%d", (int)getpid());
  job_folder(folder, TOKENS, VOCAB);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    TEST("rounds in a loop make what gpipe makes") check_results(&cases[i]);
    TEST("more micro-batches make no more calls, buffers or posts") check_size(&cases[i]);
  }
  TEST("a loop that counts its micro-batches or rounds wrongly is refused") {
    check_refused(&cases[0]);
    check_refused(&cases[1]);
  }
  job_folder_remove(folder);
  CHECK_DONE();
}
