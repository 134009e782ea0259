/* launches_test.c -- plans for GPUs run what is alike for all tensors in few launches, and some
 * records with the one before: how few, that the same bits come of it, and that the proof wants
 * fused launches to be apart. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/replay/hostile.h"
#include "tests/parity/cuda_host.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"

enum { STEPS = 3, DELAY_MOST_NS = 20000 };

static char folder[64], path[128];

static bool make_plan(const char *job, const char *const *more, Plan *plan) {
  char run[128];
  (void)snprintf(run, sizeof run, "log.dir=%s/run", folder);
  JobChanges changes = {{run}};
  for (int32_t i = 0; more[i] != NULL; i++)
    changes.text[1 + i] = more[i];
  bool planned = job_plan(job, &changes, path, plan);
  CHECK(planned);
  return planned;
}

#define PLAN(job, plan, ...) make_plan(job, (const char *const[]){__VA_ARGS__, NULL}, plan)

/* ---- how few */

static void *copied(const void *items, size_t size_bytes) {
  void *copy = malloc(size_bytes + 1);
  if (copy == NULL) abort();
  return memcpy(copy, items, size_bytes);
}

static const PlanProgram *step_of(const Plan *plan) {
  return plan_program(plan, &plan->classes[0], PROGRAM_TRAIN_STEP);
}

static bool is_rider(const Plan *plan, const PlanRecord *record) {
  return record->fuses && record->kernel != PLAN_NONE &&
         strcmp(plan_string(plan, plan->kernels[record->kernel].name), "linear_db") == 0;
}

/* The plan as if each record were started alone; with_riders: but for a bias' gradient, and the
 * addition after it. Its programs and records are freed with it. */
static Plan each_alone(const Plan *plan, bool with_riders) {
  Plan each = *plan;
  PlanProgram *programs = copied(plan->programs, sizeof *programs * plan->programs_count);
  PlanRecord *records = copied(plan->records, sizeof *records * plan->records_count);
  for (uint32_t i = 0; i < plan->programs_count; i++)
    programs[i].launches_first = programs[i].launches_count = 0;
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (!with_riders || i == 0 ||
        !(is_rider(plan, &plan->records[i]) || is_rider(plan, &plan->records[i - 1])))
      records[i].fuses = 0;
  each.programs = programs, each.records = records;
  return each;
}

static void free_alone(Plan *each) {
  free((void *)each->programs), free((void *)each->records);
}

static void check_count(const char *const *more, uint64_t before, uint64_t now) {
  Plan plan;
  if (!make_plan("../../../examples/gpt2_124m", more, &plan)) return;
  Plan each = each_alone(&plan, false);
  CHECK_INT(plan_issues(&each, step_of(&each)), before);
  CHECK_INT(plan_issues(&plan, step_of(&plan)), now);
  free_alone(&each);
  plan_close(&plan);
}

#define COUNT(before, now, ...)                                                                    \
  check_count((const char *const[]){"cluster=dgx-h100", "data=synthetic", "train.microbatch=64",   \
                                    __VA_ARGS__, NULL},                                            \
              before, now)

/* ---- the same bits */

static void train(const Plan *plan, RunRecord *record) {
  char run[80];
  (void)snprintf(run, sizeof run, "%s/run", folder);
  job_folder_remove(run);
  RunOptions options = run_defaults(plan);
  options.quiet = true;
  options.plan_path = path;
  options.ranks_every = 0;
  if (job_target(plan) == TARGET_CUDA) {
    options.cuda = cuda_host_plugin(DELAY_MOST_NS);
    options.variant = KERNEL_REFERENCE; /* the kernels for GPUs, without cublasLt */
  }
  CHECK(job_run_as(plan, &options, record));
}

static void check_same(const char *job, const char *const *more) {
  static RunRecord together, alone;
  Plan plan;
  if (!make_plan(job, more, &plan)) return;
  Plan each = each_alone(&plan, true);
  CHECK(plan_issues(&plan, step_of(&plan)) < plan_issues(&each, step_of(&each)));
  train(&plan, &together);
  train(&each, &alone);
  CHECK_INT(together.last_step, STEPS);
  for (int64_t step = 1; step <= STEPS; step++) {
    CHECK(together.loss[step] == alone.loss[step]);
    CHECK(together.norm[step] == alone.norm[step]);
  }
  free_alone(&each);
  plan_close(&plan);
}

/* Small: threads of a block are fibers, and slow. */
#define SAME(...)                                                                                  \
  check_same("gpt2",                                                                               \
             (const char *const[]){"cluster=dgx-h100", "train.steps=3", "train.batch=4 sequences", \
                                   "model.layers=2", "model.positions=8", "train.microbatch=1",    \
                                   __VA_ARGS__, NULL})
#define SAME_HERE(job, ...)                                                                        \
  check_same(job, (const char *const[]){"train.steps=3", __VA_ARGS__, NULL})

/* ---- what the proof says */

typedef struct Broken {
  Plan plan;
  PlanOperand *operands;
  PlanBinding *bindings;
  PlanLaunch *launches;
  const PlanCall *first; /* of the launch of the squares, and the next one, of the same segment */
  const PlanRecord *squares;
} Broken;

enum { OUT = 1, SCRATCH = 2 };

static void one_scratch(Broken *b) {
  b->operands[b->squares[1].operands_first + SCRATCH].offset =
      b->operands[b->squares[0].operands_first + SCRATCH].offset;
}
static void scratch_of_a_layer(Broken *b) {
  uint32_t base = b->operands[b->squares[0].operands_first + SCRATCH].base;
  b->bindings[b->first[1].bindings_first + base] = b->bindings[b->first[0].bindings_first + base];
}
static void norm_with_squares(Broken *b) {
  b->launches[0].call_count++;
}
static void two_at_once(Broken *b) {
  b->launches[1].first_call = b->launches[0].first_call;
}
static void empty(Broken *b) {
  b->launches[1].call_count = 0;
}

static const char *why_broken(const Plan *plan, void (*break_it)(Broken *b)) {
  static ProveReport report;
  Broken b = {.plan = *plan,
              .operands = copied(plan->operands, sizeof *plan->operands * plan->operands_count),
              .bindings = copied(plan->bindings, sizeof *plan->bindings * plan->bindings_count),
              .launches = copied(plan->launches, sizeof *plan->launches * plan->launches_count)};
  b.plan.operands = b.operands, b.plan.bindings = b.bindings, b.plan.launches = b.launches;
  b.first = &plan->calls[step_of(plan)->calls_first + plan->launches[0].first_call];
  while (b.first[0].segment != b.first[1].segment)
    b.first++;
  b.squares = &plan->records[plan->segments[b.first->segment].records_first];
  break_it(&b);
  bool good = prove(&b.plan, &report);
  free(b.operands), free(b.bindings), free(b.launches);
  return good ? "accepted" : report.finding[0];
}

static void check_broken(const Plan *plan, void (*break_it)(Broken *b), const char *words) {
  const char *why = why_broken(plan, break_it);
  if (strstr(why, words) == NULL) printf("%s\n", why);
  CHECK(strstr(why, words) != NULL);
}

static void check_text(const Plan *plan) {
  char *text = NULL, why[PLAN_WHY_BYTES] = "";
  size_t size_bytes = 0;
  Plan back;
  FILE *out = open_memstream(&text, &size_bytes);
  if (out == NULL) abort();
  plan_print(plan, out, NULL);
  fclose(out);
  bool parsed = plan_parse(&back, text, size_bytes, why);
  CHECK(parsed);
  if (parsed) {
    CHECK_INT(back.launches_count, plan->launches_count);
    CHECK(plan_compute_id(&back) == plan->id);
    plan_close(&back);
  }
  free(text);
}

static void check_proof(void) {
  Plan plan;
  if (!PLAN("gpt2", &plan, "cluster=dgx-h100", "model.layers=3", "train.batch=4 sequences",
            "cluster.devices=1"))
    return;
  CHECK_INT(plan.launches_count, 2);
  check_text(&plan);
  check_broken(&plan, one_scratch, "and another record of the same launch does, too");
  check_broken(&plan, scratch_of_a_layer, "and another record of the same launch does, too");
  check_broken(&plan, norm_with_squares, "cannot run with those before it");
  check_broken(&plan, two_at_once, "launches[1]: calls");
  check_broken(&plan, empty, "launches[1]: calls");
  plan_close(&plan);
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_launches_%d", (int)getpid());
  (void)snprintf(path, sizeof path, "%s/launches.plan", folder);
  job_folder(folder, 1, 2);
  TEST("what a step of GPT-2 124M issues: before, and now") {
    COUNT(649, 239, "cluster.devices=1", "train.batch=64 sequences");
    COUNT(955, 567, "cluster.devices=2", "train.batch=64 sequences", "parallel.tp=2",
          "model.vocab_multiple=2");
    COUNT(753, 341, "cluster.devices=2", "train.batch=128 sequences", "parallel.zero=1");
    COUNT(755, 343, "cluster.devices=2", "train.batch=128 sequences", "parallel.zero=3");
  }
  TEST("a batch of tensors is trained to the bits of tensors alone") {
    SAME("cluster.devices=2", "parallel.zero=1", "precision=bf16");
    if (!HOSTILE_RUNS_ALONE) { /* only more of the same there, and slow */
      SAME("cluster.devices=1");
      SAME("cluster.devices=2", "parallel.zero=3", "parallel.zero_keep=1B",
           "optimizer={ 'lion', lr = 1e-3 }");
    }
  }
  TEST("so are, on processors, records that join the one before") {
    SAME_HERE("gpt2", "precision=bf16");
    SAME_HERE("llama", "cluster.devices=2", "parallel.zero=3");
  }
  TEST("nothing of a launch meets what another of it writes") {
    check_proof();
  }
  job_folder_remove(folder);
  CHECK_DONE();
}
