/* fp8_test.c -- linear layers that multiply codes of eight bits train as those of bf16, on one rank
 * and however the model is divided. Scales are of a rank's own part: tp and cp change bits, and
 * what is between two such runs is bounded; pipelines and ZeRO do not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "runtime/plan/walk.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"

enum { LONG_STEPS = 80, FEW_STEPS = 8, TOKENS = 1 << 16, VOCAB = 64 };

static const double NEAR_BF16 = 0.03; /* of a loss after 80 steps */
static const double NEAR_RANK =
    5e-3; /* of any loss of the first steps: another rounding of scales */

static char folder[64];
static int64_t coded; /* how often a step of the last run's first stage made codes of a layer */
static int64_t cast;  /* parameters of layers that such a step cast */

static bool count_codes(void *context, const Position *at, Status *status) {
  const Plan *plan = context;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  const char *name = plan_string(plan, segment->name);
  (void)status;
  coded += strcmp(name, "h.codes") == 0;
  for (uint32_t i = 0; i < segment->records_count && strncmp(name, "h.", 2) == 0; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (record->purpose == PURPOSE_CAST &&
        strcmp(plan_string(plan, plan->kernels[record->kernel].name), "cast") == 0 &&
        plan_runs(at->call, record))
      cast += plan->ints[record->dims_first];
  }
  return true;
}

static void count_in_step(const Plan *plan) {
  const PlanClass *class = &plan->classes[0];
  Status status = {0};
  coded = cast = 0;
  for (uint32_t i = 0; i < class->programs_count; i++) {
    const PlanProgram *program = &plan->programs[class->programs_first + i];
    if (program->kind == PROGRAM_TRAIN_STEP)
      CHECK(walk_calls(plan, program, count_codes, (void *)(uintptr_t)plan, &status));
  }
}

/* Compiles and runs the job with these changes; its tokens, folder and dtypes are always the same.
 */
static bool run_changed(JobChanges changes, RunRecord *record) {
  char data[128], log_dir[128], plan_path[128];
  (void)snprintf(data, sizeof data, "data.train=%s/tokens.u8", folder);
  (void)snprintf(log_dir, sizeof log_dir, "log.dir=%s/run", folder);
  (void)snprintf(plan_path, sizeof plan_path, "%s/job.plan", folder);
  const char *const always[] = {
      "data=tokens", data, "data.format=u8", log_dir, "precision=bf16", "checkpoint.every=never"};
  enum { ALWAYS = sizeof always / sizeof *always };
  JobChanges all = {{NULL}};
  memcpy(all.text, always, sizeof always);
  for (int i = 0; i + ALWAYS < JOB_CHANGES_MAX && changes.text[i] != NULL; i++)
    all.text[i + ALWAYS] = changes.text[i];
  Plan plan;
  bool planned = job_plan("gpt2", &all, plan_path, &plan);
  CHECK(planned);
  if (!planned) return false;
  char path[80];
  (void)snprintf(path, sizeof path, "%s/run", folder);
  job_folder_remove(path);
  count_in_step(&plan);
  bool ran = job_run(&plan, 0, record);
  CHECK(ran);
  plan_close(&plan);
  return ran;
}

static bool run(const char *linear, const char *steps, const char *devices, const char *a,
                const char *b, RunRecord *record) {
  return run_changed((JobChanges){{"train.batch=8 sequences", linear, steps, devices, a, b}},
                     record);
}

#define FP8 "precision.linear={\"fp8\",scaling=\"tensor\"}"

/* One sequence of 128 tokens a micro-batch: every size of a product is whole blocks. */
#define BLOCKS "precision.linear={\"fp8\",scaling=\"block\"}"
#define WIDE                                                                                       \
  "model={\"gpt2\", layers=2, width=128, heads=2, vocab=64, positions=128}", "train.microbatch=1"

static bool run_blocks(const char *linear, const char *more, RunRecord *record) {
  return run_changed(
      (JobChanges){{WIDE, "train.batch=2 sequences", "train.steps=20", linear, more}}, record);
}

/* The largest distance of two runs' losses, relative, over the first steps. */
static double apart(const RunRecord *a, const RunRecord *b, int steps) {
  double most = 0;
  for (int step = 1; step <= steps; step++)
    most = fmax(most, fabs(a->loss[step] / b->loss[step] - 1));
  return most;
}

static void check_blocks(void) {
  enum { STEPS = 20 };
  static RunRecord codes, numbers, tensors, other;
  if (!run_blocks(BLOCKS, NULL, &codes) ||
      !run_blocks("precision.linear=compute", NULL, &numbers) ||
      !run_blocks("precision.linear=fp8", NULL, &tensors))
    return;
  const double by_block = apart(&codes, &numbers, STEPS),
               by_tensor = apart(&tensors, &numbers, STEPS);
  printf("by block %.2g, by tensor %.2g of a loss from bf16 at most\n", by_block, by_tensor);
  CHECK(by_block > 0 && by_block < NEAR_BF16 && by_tensor > 0 && by_tensor < NEAR_BF16);
  CHECK(run_blocks(BLOCKS, "memory.recompute=block", &other) && apart(&other, &codes, STEPS) == 0);
  CHECK(run_blocks(BLOCKS, "cluster.devices=2", &other) && apart(&other, &codes, FEW_STEPS) < 1e-4);
}

static void check_near_bf16(void) {
  static RunRecord codes, numbers;
  if (!run(FP8, "train.steps=80", "cluster.devices=1", NULL, NULL, &codes) ||
      !run("precision.linear=compute", "train.steps=80", "cluster.devices=1", NULL, NULL, &numbers))
    return;
  double apart = 0, most = 0;
  for (int step = LONG_STEPS - 9; step <= LONG_STEPS; step++)
    apart += (codes.loss[step] - numbers.loss[step]) / 10;
  for (int step = 1; step <= LONG_STEPS; step++)
    most = fmax(most, fabs(codes.loss[step] - numbers.loss[step]));
  printf("fp8 - bf16: %.4f over the last 10 of 80 steps, %.4f at most\n", apart, most);
  CHECK(fabs(apart) < NEAR_BF16 && most > 0);
  CHECK(numbers.loss[LONG_STEPS] < numbers.loss[1] - 0.3);
}

static void check_divided(const char *devices, const char *a, const char *b, double bound) {
  static RunRecord one, many;
  if (!run(FP8, "train.steps=8", "cluster.devices=1", NULL, NULL, &one) ||
      !run(FP8, "train.steps=8", devices, a, b, &many))
    return;
  for (int step = 1; step <= FEW_STEPS; step++) {
    double apart = fabs(many.loss[step] / one.loss[step] - 1);
    if (apart > bound) printf("%s %s: step %d: %g apart\n", a ? a : "", b ? b : "", step, apart);
    CHECK(apart <= bound);
  }
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_fp8_%d", (int)getpid());
  job_folder(folder, TOKENS, VOCAB);
  TEST("80 steps of fp8 and of bf16") check_near_bf16();
  TEST("codes of a layer's weights are made once a step, or after each gather") {
    enum { LAYERS = 2, MICROBATCHES = 2 };
    check_divided("cluster.devices=1", NULL, NULL, 0);
    CHECK_INT(coded, LAYERS);
    check_divided("cluster.devices=2", "parallel.zero=3", "parallel.zero_keep=0B", 1e-4);
    CHECK_INT(coded, 2 * LAYERS * MICROBATCHES);
    check_divided("cluster.devices=2", "parallel.zero=3", "parallel.zero_reshard=step", 1e-4);
    CHECK_INT(coded, LAYERS);
  }
  TEST("fp32 parameters that have codes are cast for these alone") {
    check_divided("cluster.devices=1", "precision.param=fp32", NULL, 0);
    const int64_t once = cast;
    check_divided("cluster.devices=1", "precision.param=fp32", "train.microbatch=2", NEAR_RANK);
    CHECK(once > 0 && cast < once + once / 8);
  }
  TEST("recomputed layers and ranks that share samples: losses of one rank") {
    check_divided("cluster.devices=1", "memory.recompute=block", NULL, 0);
    check_divided("cluster.devices=4", "parallel.zero=3", NULL, 1e-4);
    check_divided("cluster.devices=2", "parallel.pp=2", NULL, 1e-4);
    check_divided("cluster.devices=2", "parallel.pp=2", "parallel.pipeline=zb-h1", 1e-4);
  }
  TEST("blocks of 128") check_blocks();
  TEST("ranks that share a tensor have scales of their own") {
    check_divided("cluster.devices=2", "parallel.tp=2", NULL, NEAR_RANK);
    check_divided("cluster.devices=2", "parallel.cp=2", NULL, NEAR_RANK);
    check_divided("cluster.devices=8", "parallel.tp=2", "parallel.pp=2", NEAR_RANK);
  }
  job_folder_remove(folder);
  CHECK_DONE();
}
