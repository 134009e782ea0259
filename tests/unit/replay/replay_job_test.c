/* Whole jobs inside one process, on the example plan, synthetic data.
 * LINK: runtime plan_builder */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "runtime/rank/run.h"
#include "runtime/state/rows.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { STEPS = 12, FILE_BYTES = 1 << 20 };

static char folder[64];

typedef struct Outcome {
  bool done;
  Status status;
  char metrics[FILE_BYTES];
  double loss[STEPS + 1];
  double grad_norm[STEPS + 1];
  double comm_bytes;
} Outcome;

static double number_after(const char *line, const char *name) {
  const char *at = strstr(line, name);
  return at ? strtod(at + strlen(name), NULL) : NAN;
}

static void read_metrics(const char *run_dir, Outcome *outcome) {
  char path[256];
  (void)snprintf(path, sizeof path, "%s/metrics.jsonl", run_dir);
  FILE *file = fopen(path, "r");
  size_t length = file ? fread(outcome->metrics, 1, FILE_BYTES - 1, file) : 0;
  outcome->metrics[length] = 0;
  if (file) fclose(file);
  for (char *line = strstr(outcome->metrics, "{\"step\":"); line;
       line = strstr(line + 1, "{\"step\":")) {
    int step = (int)number_after(line, "\"step\":");
    if (step < 0 || step > STEPS) continue;
    outcome->loss[step] = number_after(line, "\"loss\":");
    outcome->grad_norm[step] = number_after(line, "\"grad_norm\":");
    outcome->comm_bytes = number_after(line, "\"comm_bytes\":");
  }
}

typedef struct Job {
  ExampleOptions example;
  const char *name;
  int64_t steps; /* of this run; 0: all */
  bool checkpoints;
  bool is_refused;
  bool in_parts;     /* every replica writes a part of the state */
  bool is_pipeline;  /* the second class is a stage that computes and loads nothing */
  double message_ns; /* a link this slow */
} Job;

/* All-reduces of gradients never run. */
static void part_replicas(PlanBuilder *builder) {
  for (uint32_t i = 0; i < builder->records_count; i++) {
    PlanRecord *record = &builder->records[i];
    if (record->kind == RECORD_ALL_REDUCE && record->after_count > 0)
      record->when_none = record->when_all;
  }
}

/* A job of two classes: one replica of two stages, the second of which only takes part in
 * the control all-reduce. */
static void make_pipeline(PlanBuilder *builder) {
  part_replicas(builder);
  builder->axes[0] = build_axis_named(builder, "pp", builder->axes[0].size);
  build_strides(builder);
  *build_count(builder, JOB_batch_samples) /= 2;
  uint32_t control = 0;
  while (strcmp(builder->strings + builder->segments[control].name, "reduce control") != 0)
    control++;
  PlanSegment nothing = {builder->bases_count, 0, builder->records_count, 0,
                         build_string(builder, "nothing")};
  uint32_t empty = build_segments(builder, nothing);
  uint32_t first = builder->programs[builder->classes[1].programs_first].calls_first;
  for (uint32_t i = first; i < builder->calls_count; i++) {
    builder->calls[i].waits_count = 0;
    if (builder->calls[i].segment == control) continue;
    builder->calls[i].segment = empty;
    builder->calls[i].bindings_count = 0;
  }
}

static void run(Job job, Outcome *outcome) {
  memset(outcome, 0, sizeof *outcome);
  PlanBuilder builder = {0};
  build_example(&builder, job.example);
  char run_dir[128], checkpoint_dir[160];
  (void)snprintf(run_dir, sizeof run_dir, "%s/%s", folder, job.name);
  (void)snprintf(checkpoint_dir, sizeof checkpoint_dir, "%s/checkpoint", run_dir);
  build_word(&builder, JOB_data, "synthetic");
  *build_count(&builder, JOB_steps) = STEPS;
  build_word(&builder, JOB_run_dir, run_dir);
  build_word(&builder, JOB_checkpoint_dir, checkpoint_dir);
  *build_real(&builder, JOB_checkpoint_every) = job.checkpoints ? 5 : 0;
  *build_count(&builder, JOB_checkpoint_keep) = 2;
  build_word(&builder, JOB_schedule, "cosine");
  *build_count(&builder, JOB_validate_every) = 6;
  *build_count(&builder, JOB_validate_samples) = 24;
  if (job.in_parts)
    build_settings(&builder, (PlanSetting){.effect = SETTING_SAFE,
                                           .kind = SETTING_TEXT,
                                           .key = build_string(&builder, STATE_PART_KEY),
                                           .text = build_string(&builder, "256 B"),
                                           .origin = build_string(&builder, "job: a.lua:1:1")});
  if (job.is_pipeline) make_pipeline(&builder);
  char plan_path[160];
  char why[PLAN_WHY_BYTES] = "";
  (void)snprintf(plan_path, sizeof plan_path, "%s/%s.plan", folder, job.name);
  Plan made = build_view(&builder), plan;
  bool opened = plan_write(&made, plan_path, why) && plan_open(&plan, plan_path, why);
  if (!opened) printf("plan: %s\n", why);
  CHECK(opened);
  if (opened) {
    RunOptions options = run_defaults(&plan);
    options.quiet = true;
    options.measure_peak = false;
    options.steps = job.steps;
    options.link_delay.message_ns = job.message_ns;
    outcome->done = run_job(&plan, &options, &outcome->status);
    if (outcome->done == job.is_refused) printf("%s: %s\n", job.name, outcome->status.text);
    plan_close(&plan);
  }
  build_free(&builder);
  read_metrics(run_dir, outcome);
}

static void check_equal_losses(const Outcome *a, const Outcome *b, double tolerance) {
  for (int step = 1; step <= STEPS; step++) {
    CHECK_NEAR(a->loss[step], b->loss[step], tolerance * fabs(b->loss[step]));
    CHECK_NEAR(a->grad_norm[step], b->grad_norm[step], tolerance * fabs(b->grad_norm[step]));
  }
}

static Outcome first, second;

static void test_resume(ExampleOptions one) {
  TEST("resuming is bitwise equal to not stopping") {
    run((Job){.example = one, .name = "stopped", .steps = 7, .checkpoints = true}, &second);
    CHECK(second.done);
    CHECK(isfinite(second.loss[7]) && second.loss[8] == 0);
    run((Job){.example = one, .name = "stopped", .checkpoints = true}, &second);
    CHECK(second.done);
    for (int step = 1; step <= STEPS; step++)
      CHECK_NEAR(second.loss[step], first.loss[step], 0);
  }
  TEST("a checkpoint of another model is refused with the tensor's name") {
    ExampleOptions other = one;
    other.layers = 2;
    run((Job){.example = other, .name = "stopped", .checkpoints = true, .is_refused = true},
        &second);
    CHECK(!second.done);
    CHECK_INT(second.status.code, STATUS_USER);
    CHECK(strstr(second.status.text, "h.2.w"));
  }
}

static void test_pipeline(ExampleOptions one) {
  ExampleOptions two = one;
  two.replicas = two.classes = 2;
  TEST("a stage that loads nothing takes part in steps, validation and checkpoints") {
    run((Job){.example = one, .name = "whole"}, &first);
    run((Job){.example = two, .name = "stages", .is_pipeline = true, .checkpoints = true}, &second);
    CHECK(second.done);
    check_equal_losses(&second, &first, 0);
    CHECK(strstr(second.metrics, "\"valid_step\":6") &&
          strstr(second.metrics, "\"valid_step\":12"));
    char part[160];
    (void)snprintf(part, sizeof part, "%s/stages/checkpoint/step_00000012/manifest.json", folder);
    CHECK(access(part, F_OK) == 0);
  }
  TEST("loads that are not the batch are refused") {
    two.accumulation = 2;
    PlanBuilder builder = {0};
    build_example(&builder, two);
    make_pipeline(&builder);
    *build_count(&builder, JOB_accumulation) = 4;
    Plan plan = build_view(&builder);
    RunOptions options = run_defaults(&plan);
    options.quiet = true, options.measure_peak = false;
    build_word(&builder, JOB_data, "synthetic");
    plan = build_view(&builder);
    Status status = {0};
    CHECK(!run_job(&plan, &options, &status));
    CHECK(strstr(status.text, "2 loads of 8 samples on 1 replica are not a batch of 16"));
    build_free(&builder);
  }
}

static void test_resume_parts(ExampleOptions two) {
  char part[160];
  TEST("resuming is bitwise when every replica writes a part of the state") {
    run((Job){.example = two, .name = "parted", .checkpoints = true, .in_parts = true}, &first);
    CHECK(first.done);
    run((Job){.example = two,
              .name = "parted_stopped",
              .steps = 7,
              .checkpoints = true,
              .in_parts = true},
        &second);
    CHECK(second.done && second.loss[8] == 0);
    (void)snprintf(part, sizeof part,
                   "%s/parted_stopped/checkpoint/step_00000007/part-00001.safetensors", folder);
    CHECK(access(part, F_OK) == 0);
    run((Job){.example = two, .name = "parted_stopped", .checkpoints = true, .in_parts = true},
        &second);
    CHECK(second.done);
    check_equal_losses(&second, &first, 0);
    CHECK(access(part, F_OK) != 0); /* two are kept: of steps 10 and 12 */
  }
  TEST("an incomplete checkpoint is passed over for the one before") {
    (void)snprintf(part, sizeof part,
                   "%s/parted_stopped/checkpoint/step_00000012/part-00001.safetensors", folder);
    CHECK_INT(unlink(part), 0);
    run((Job){.example = two, .name = "parted_stopped", .checkpoints = true, .in_parts = true},
        &second);
    CHECK(second.done);
    check_equal_losses(&second, &first, 0);
    CHECK(access(part, F_OK) == 0);
  }
}

static void test_replicas(ExampleOptions one) {
  TEST("replicas x accumulation may be divided in any way") {
    for (uint32_t replicas = 2; replicas <= 4; replicas *= 2)
      for (uint32_t classes = 1; classes <= 2; classes++) {
        ExampleOptions many = {3, 4 / replicas, replicas, classes, false};
        run((Job){.example = many, .name = "many"}, &second);
        CHECK(second.done);
        check_equal_losses(&second, &first, 1e-5);
      }
  }
  TEST("a slow link changes no bit, with loops and without") {
    for (int loop = 0; loop < 2; loop++) {
      ExampleOptions two = {3, 4, 2, 1, loop};
      run((Job){.example = two, .name = "quick"}, &first);
      run((Job){.example = two, .name = "slow", .message_ns = 3e5}, &second);
      CHECK(first.done && second.done);
      check_equal_losses(&second, &first, 0);
    }
    run((Job){.example = one, .name = "one"}, &first);
  }
  TEST("accumulation does not communicate before its last micro-batch") {
    ExampleOptions two = {3, 1, 2, 1, false};
    run((Job){.example = two, .name = "two"}, &second);
    double once = second.comm_bytes;
    two.accumulation = 4;
    run((Job){.example = two, .name = "two_accumulated"}, &second);
    CHECK(once > 0);
    CHECK_NEAR(second.comm_bytes, once, 0);
  }
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_replay_%d", (int)getpid());
  (void)mkdir(folder, 0777);
  ExampleOptions one = {.layers = 3, .accumulation = 4, .replicas = 1, .classes = 1};

  TEST("a job runs to its end and validates") {
    run((Job){.example = one, .name = "one"}, &first);
    CHECK(first.done);
    CHECK(first.loss[1] > 0 && first.loss[STEPS] > 0);
    CHECK(strstr(first.metrics, "\"valid_step\":6") && strstr(first.metrics, "\"valid_step\":12"));
  }
  TEST("two runs are bitwise equal") {
    run((Job){.example = one, .name = "again"}, &second);
    check_equal_losses(&second, &first, 0);
  }
  TEST("a loop is its calls written out") {
    ExampleOptions loop = one;
    loop.loop = true;
    run((Job){.example = loop, .name = "loop"}, &second);
    CHECK(second.done);
    check_equal_losses(&second, &first, 0);
  }
  test_replicas(one);
  test_resume(one);
  test_pipeline(one);
  test_resume_parts((ExampleOptions){3, 2, 2, 1, false});
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}
