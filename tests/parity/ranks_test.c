/* ranks_test.c -- ranks say where the time of their steps went, and which of them is slow: parts
 * add up to steps, a rank that is made to wait is the one that is named, and a trace has the
 * records that the plan has. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/observe/steplog.h"
#include "runtime/plan/plan_io.h"
#include "runtime/trace/trace.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"

enum {
  RANKS = 4,
  STEPS = 5,
  SLOW_RANK = 2,
  SLOW_MS = 150,
  SLOWEST_MS = SLOW_MS * 16,
  LINE_BYTES = 4096
};

static char folder[64];

static bool make_plan(const char *const *more, Plan *plan) {
  char run[128], path[128];
  (void)snprintf(run, sizeof run, "log.dir=%s/run", folder);
  (void)snprintf(path, sizeof path, "%s/ranks.plan", folder);
  JobChanges changes = {{run, "train.steps=5", "train.batch=8 sequences"}};
  for (int32_t i = 0; more[i] != NULL; i++)
    changes.text[3 + i] = more[i];
  bool planned = job_plan("gpt2", &changes, path, plan);
  CHECK(planned);
  return planned;
}

static RunOptions options_of(const Plan *plan) {
  char run[80];
  (void)snprintf(run, sizeof run, "%s/run", folder);
  job_folder_remove(run);
  RunOptions options = run_defaults(plan);
  options.on_cpu = true;
  options.ranks_every = 100;
  return options;
}

static FILE *open_result(const char *name) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/run/%s", folder, name);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  return file;
}

static double number_after(const char *text, const char *key) {
  const char *at = strstr(text, key);
  CHECK(at != NULL);
  return at == NULL ? -1 : strtod(at + strlen(key), NULL);
}

/* All "..._ms" of a line but the step's, minus the step's. */
static double excess_ms(const char *line) {
  double sum = -number_after(line, "\"step_ms\":");
  for (const char *at = strstr(line, "_ms\":"); at; at = strstr(at + 5, "_ms\":"))
    if (strncmp(at - strlen("step"), "step", strlen("step")) != 0) sum += strtod(at + 5, NULL);
  return sum;
}

static void check_lines(int32_t rank) {
  char name[32], line[LINE_BYTES];
  int32_t steps = 0;
  (void)snprintf(name, sizeof name, "ranks/%d.jsonl", rank);
  FILE *file = open_result(name);
  if (!file) return;
  CHECK(fgets(line, sizeof line, file) != NULL);
  CHECK_INT((int32_t)number_after(line, "\"rank\":"), rank);
  for (; fgets(line, sizeof line, file); steps++) {
    CHECK_NEAR(excess_ms(line), 0.0, 1e-4);
    if (rank == SLOW_RANK) CHECK(number_after(line, "\"other_ms\":") >= SLOW_MS);
    if (rank != SLOW_RANK) CHECK(number_after(line, "\"compute_ms\":") > 0);
  }
  CHECK_INT(steps, STEPS);
  (void)fclose(file);
}

static const char *read_summary(void) {
  static char text[1 << 16];
  text[0] = 0;
  FILE *file = open_result("summary.json");
  if (!file) return text;
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  (void)fclose(file);
  return text;
}

static bool is_named(void) {
  const char *ranks = strstr(read_summary(), "\"ranks_by_own_time\":[");
  const char *slow = ranks ? strstr(ranks, "\"is_slow\":") : NULL;
  return slow && (int32_t)number_after(ranks, "\"rank\":") == SLOW_RANK &&
         strncmp(slow, "\"is_slow\":true", strlen("\"is_slow\":true")) == 0;
}

static void check_summary(bool predicts) {
  const char *text = read_summary();
  const char *ranks = strstr(text, "\"ranks_by_own_time\":[");
  CHECK(ranks != NULL && strstr(text, "\"breakdown\":{\"steps\":4") != NULL);
  if (!ranks) return;
  CHECK_INT((int32_t)number_after(ranks, "\"rank\":"), SLOW_RANK);
  const char *slow = strstr(ranks, "\"is_slow\":");
  CHECK(slow && strncmp(slow, "\"is_slow\":true", strlen("\"is_slow\":true")) == 0);
  CHECK(number_after(ranks, "\"own_ms\":") >= SLOW_MS);
  const char *predicted = strstr(text, "\"predicted\":");
  CHECK(predicted != NULL);
  if (!predicted) return;
  CHECK_INT(strncmp(predicted, "\"predicted\":{", strlen("\"predicted\":{")) == 0, predicts);
  if (!predicts) return;
  /* Part beside part, and the parts are the step. */
  CHECK(number_after(predicted, "\"step_ms\":") > 0);
  CHECK(number_after(predicted, "\"compute_ms\":") > 0);
  CHECK(number_after(predicted, "\"dp\":") > 0);
  CHECK_NEAR(number_after(predicted, "\"compute_ms\":") + number_after(predicted, "\"dp\":") +
                 number_after(predicted, "\"several\":") +
                 number_after(predicted, "\"bubble_ms\":") +
                 number_after(predicted, "\"other_ms\":"),
             number_after(predicted, "\"step_ms\":"), 1e-4);
}

static void check_slow(bool predicts, const char *const *more) {
  static RunRecord record;
  Plan plan;
  if (!make_plan(more, &plan)) return;
  /* On a busy machine another rank may wait longer for a processor than this one is delayed. */
  for (int64_t delay_ms = SLOW_MS; delay_ms <= SLOWEST_MS; delay_ms *= 4) {
    RunOptions options = options_of(&plan);
    options.rank_delay = (RankDelay){SLOW_RANK, delay_ms * 1000000};
    CHECK(job_run_as(&plan, &options, &record));
    if (is_named()) break;
  }
  for (int32_t rank = 0; rank < RANKS; rank++)
    check_lines(rank);
  check_summary(predicts);
  plan_close(&plan);
}

/* ---- the trace */

static int64_t planned_records(const Plan *plan, const Mesh *mesh, int32_t rank) {
  const PlanClass *class = mesh_class(mesh, plan, rank);
  int64_t *times = calloc(plan->records_count, sizeof *times), sum = 0;
  Status status;
  for (uint32_t i = 0; i < class->programs_count; i++) {
    const PlanProgram *program = &plan->programs[class->programs_first + i];
    if (program->kind == PROGRAM_TRAIN_STEP) CHECK(steplog_count(plan, program, times, &status));
  }
  for (uint32_t i = 0; i < plan->records_count; i++)
    sum += times[i];
  free(times);
  return sum;
}

/* A launch is one entry for all its records. */
static int64_t timed_records(const Trace *trace) {
  int64_t sum = 0;
  for (int64_t i = 0; i < trace->count; i++)
    sum += trace->entry[i].records;
  return sum;
}

static int64_t count_text(const char *text, const char *part) {
  int64_t count = 0;
  for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
    count++;
  return count;
}

/* Brackets match, and strings end. */
static bool is_json(const char *text) {
  char open[64];
  int32_t depth = 0;
  for (; *text; text++) {
    if (*text == '"')
      for (text++; *text && *text != '"'; text++)
        text += *text == '\\';
    if (*text == 0) return false;
    if (*text == '{' || *text == '[') open[depth++ % 64] = *text;
    if (*text == '}' && (depth == 0 || open[--depth] != '{')) return false;
    if (*text == ']' && (depth == 0 || open[--depth] != '[')) return false;
  }
  return depth == 0;
}

/* A TracePredict. */
static int64_t predict(const Plan *plan, uint32_t rank, const PlanRecord *record) {
  (void)plan, (void)rank;
  CHECK(record->comm != PLAN_NONE);
  return 1234567;
}

static void check_printed(const Plan *plan, const Trace *traces, int64_t wanted) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  CHECK_INT(trace_print(plan, traces, RANKS, predict, out), wanted);
  (void)fclose(out);
  CHECK(is_json(text));
  CHECK_INT(count_text(text, "\"ph\":\"X\""), wanted);
  CHECK(count_text(text, "\"predicted_us\":1234.567") > 0);
  CHECK(count_text(text, "\"ph\":\"s\"") > 0);
  CHECK_INT(count_text(text, "\"ph\":\"s\""), count_text(text, "\"ph\":\"f\""));
  CHECK_INT(count_text(text, "\"process_name\""), RANKS);
  free(text);
}

/* Steps 2 and 3 were kept, and 3 and 4 are asked for. */
static void check_trace(const char *const *more) {
  static RunRecord record;
  Plan plan;
  Mesh mesh;
  Status status;
  Trace traces[RANKS];
  int64_t wanted = 0;
  if (!make_plan(more, &plan)) return;
  RunOptions options = options_of(&plan);
  options.trace_first = 2, options.trace_last = 3;
  CHECK(job_run_as(&plan, &options, &record));
  CHECK(mesh_read(&mesh, &plan, &status));
  for (int32_t rank = 0; rank < RANKS; rank++) {
    char path[128], why[TRACE_WHY_BYTES] = "";
    (void)snprintf(path, sizeof path, "%s/run/ranks/%d.trace", folder, rank);
    CHECK(trace_read(&traces[rank], path, &plan, 3, 4, why));
    CHECK_TEXT(why, "");
    CHECK_INT(timed_records(&traces[rank]), planned_records(&plan, &mesh, rank));
    wanted += traces[rank].count;
  }
  check_printed(&plan, traces, wanted);
  for (int32_t rank = 0; rank < RANKS; rank++)
    trace_free(&traces[rank]);
  plan_close(&plan);
}

/* Damaged files are refused. */
static void check_damage(void) {
  static const char *const steps[] = {"", "0", "3..2", "1..", "..4", "1..2..3", "a", "1 2"};
  char path[128], why[TRACE_WHY_BYTES];
  Plan plan;
  Trace trace;
  int64_t first, last;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    CHECK(!trace_steps(steps[i], &first, &last));
  CHECK(trace_steps("7", &first, &last) && first == 7 && last == 7);
  if (!make_plan((const char *const[]){NULL}, &plan)) return;
  (void)snprintf(path, sizeof path, "%s/ranks.plan", folder);
  CHECK(!trace_read(&trace, path, &plan, 1, 9, why) && strstr(why, "is no trace of a rank"));
  plan_close(&plan);
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_ranks_%d", (int)getpid());
  job_folder(folder, 1, 2);
  TEST("dp x tp: the slow rank is named, and parts add up to steps") {
    check_slow(false, (const char *const[]){"cluster.devices=4", "parallel.tp=2", NULL});
  }
  TEST("a plan for GPUs, whose host is a step ahead, and which predicts") {
    check_slow(true, (const char *const[]){"cluster=dgx-h100", "cluster.devices=4", NULL});
  }
  TEST("the trace of a pipeline has each record of a step, and an arrow for each message") {
    check_trace((const char *const[]){"cluster.devices=4", "parallel.pp=2",
                                      "train.batch=16 sequences", NULL});
  }
  TEST("lanes beside the main lane") {
    check_trace((const char *const[]){"cluster=dgx-h100", "cluster.devices=4", "parallel.pp=2",
                                      "train.batch=16 sequences", NULL});
  }
  TEST("what is no trace, and no steps") {
    check_damage();
  }
  job_folder_remove(folder);
  CHECK_DONE();
}
