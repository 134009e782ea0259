/* pieces_test.c -- plans for GPUs gather what lies in many pieces: the same bits come of it, no
 * collective has many pieces left, and a real job asks a library of collectives few times.
 *
 * The plan for GPUs and the plan for processors of one job run here on threads. Kernels are the
 * plain definitions, for the two plans have other scratch, and fast kernels round by it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_loops.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"

enum { STEPS = 3, PIECES_LEFT_MOST = 8 };

static char folder[64];

static int32_t count_kernel(const Plan *plan, const char *name) {
  int32_t count = 0;
  for (uint32_t i = 0; i < plan->records_count; i++) {
    uint32_t kernel = plan->records[i].kernel;
    count +=
        kernel != PLAN_NONE && strcmp(plan_string(plan, plan->kernels[kernel].name), name) == 0;
  }
  return count;
}

static uint64_t most_pieces(const Plan *plan) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const PlanRecord *record = &plan->records[i];
    if (record->kind != RECORD_EXCHANGE && record->flat_calls > most) most = record->flat_calls;
  }
  return most;
}

/* The bytes that pieces are gathered in are in the ledger, as memory of communication. */
static bool has_buffer(const Plan *plan, const char *name) {
  for (uint32_t i = 0; i < plan->buffers_count; i++)
    if (strcmp(plan_string(plan, plan->buffers[i].name), name) == 0)
      return plan->buffers[i].kind == BUFFER_COMM;
  return false;
}

static bool make_plan(const char *cluster, const char *const *more, Plan *plan) {
  char run[128], path[128];
  (void)snprintf(run, sizeof run, "log.dir=%s/run", folder);
  (void)snprintf(path, sizeof path, "%s/%s.plan", folder, cluster + strlen("cluster="));
  JobChanges changes = {{run, cluster, "model.dropout=0.1", "train.steps=3"}};
  for (int32_t i = 0; more[i] != NULL; i++)
    changes.text[4 + i] = more[i];
  bool planned = job_plan("gpt2", &changes, path, plan);
  CHECK(planned);
  return planned;
}

static void run_plain(const Plan *plan, RunRecord *record) {
  char run[80];
  (void)snprintf(run, sizeof run, "%s/run", folder);
  job_folder_remove(run);
  RunOptions options = run_defaults(plan);
  options.variant = KERNEL_REFERENCE;
  options.on_cpu = true;
  CHECK(job_run_as(plan, &options, record));
  CHECK_INT(record->last_step, STEPS);
}

/* Kernels of the GPUs' plan that move pieces together and apart. */
static void check_case(const char *const *more, bool gathers, bool scatters) {
  Plan here, there;
  static RunRecord want, got;
  if (!make_plan("cluster=here", more, &here) || !make_plan("cluster=dgx-h100", more, &there))
    return;
  CHECK_INT(count_kernel(&here, "gather_pieces") + count_kernel(&here, "scatter_pieces"), 0);
  CHECK(most_pieces(&here) > PIECES_LEFT_MOST);
  CHECK_INT(count_kernel(&there, "gather_pieces") > 0, gathers);
  CHECK_INT(count_kernel(&there, "scatter_pieces") > 0, scatters);
  CHECK(most_pieces(&there) <= PIECES_LEFT_MOST);
  CHECK(has_buffer(&there, "gathered pieces"));
  run_plain(&here, &want);
  run_plain(&there, &got);
  for (int64_t step = 1; step <= STEPS; step++) {
    CHECK(got.loss[step] == want.loss[step]);
    CHECK(got.norm[step] == want.norm[step]);
  }
  plan_close(&here), plan_close(&there);
}

#define CASE(gathers, scatters, ...)                                                               \
  check_case((const char *const[]){__VA_ARGS__, NULL}, gathers, scatters)

/* The calls of one rank in a step. */
static uint64_t calls_of_step(const Plan *plan) {
  uint64_t calls = 0;
  for (uint32_t p = 0; p < plan->classes[0].programs_count; p++) {
    const PlanProgram *program = &plan->programs[plan->classes[0].programs_first + p];
    for (uint32_t c = 0; c < program->calls_count; c++) {
      const PlanCall *call = &plan->calls[program->calls_first + c];
      const PlanSegment *segment = &plan->segments[call->segment];
      uint64_t times = plan_call_times(plan, program, c);
      for (uint32_t i = 0; i < segment->records_count; i++) {
        const PlanRecord *record = &plan->records[segment->records_first + i];
        if (program->kind == PROGRAM_TRAIN_STEP && plan_runs(call, record))
          calls += times * record->flat_calls;
      }
    }
  }
  return calls;
}

/* In pieces they were 51,285. */
static void check_real(void) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/gpt2.plan", folder);
  JobChanges changes = {{"data=synthetic", "cluster.devices=2", "parallel.tp=2",
                         "model.vocab_multiple=2", "train.microbatch=64"}};
  Plan plan;
  bool planned = job_plan("../../../examples/gpt2_124m", &changes, path, &plan);
  CHECK(planned);
  if (!planned) return;
  CHECK_INT(job_accumulation(&plan), 8);
  CHECK_INT(calls_of_step(&plan), 885);
  plan_close(&plan);
}

/* ---- what the proof says of plans that gather pieces wrongly */

typedef struct Broken {
  Plan plan;
  PlanRecord *records;
  PlanOperand *operands;
  PlanBase *bases;
  PlanBinding *bindings;
  int64_t *ints;
  uint32_t gather, scatter; /* the first of each, in one segment with their collectives */
  uint32_t base;            /* that gather_pieces writes */
} Broken;

static void *copied(const void *items, size_t size_bytes) {
  void *copy = malloc(size_bytes + 1);
  if (copy == NULL) abort();
  return memcpy(copy, items, size_bytes);
}

static uint32_t first_kernel(const Plan *plan, const char *name) {
  uint32_t i = 0;
  while (plan->records[i].kernel == PLAN_NONE ||
         strcmp(plan_string(plan, plan->kernels[plan->records[i].kernel].name), name) != 0)
    i++;
  return i;
}

static uint32_t base_of(const Plan *plan, uint32_t record, uint32_t operand) {
  uint32_t s = 0;
  while (record - plan->segments[s].records_first >= plan->segments[s].records_count)
    s++;
  return plan->segments[s].bases_first +
         plan->operands[plan->records[record].operands_first + operand].base;
}

static void not_beside(Broken *b) {
  b->records[b->gather].lane = b->records[b->gather].lane == 0;
}
static void sometimes(Broken *b) {
  b->records[b->scatter].when_none = CALL_LAST_LAYER;
}
static void from_elsewhere(Broken *b) {
  b->operands[b->records[b->scatter].operands_first].offset += PLAN_ALIGN_BYTES;
  b->bases[base_of(&b->plan, b->scatter, 0)].size_bytes += PLAN_ALIGN_BYTES;
}
/* The first call of the segment gathers into the memory of what it gathers. */
static void in_memory_of_others(Broken *b) {
  const PlanCall *call = b->plan.calls;
  const uint32_t from = base_of(&b->plan, b->gather, 0);
  while (b->plan.segments[call->segment].bases_first > b->base ||
         b->base - b->plan.segments[call->segment].bases_first >= call->bindings_count)
    call++;
  PlanBinding *bindings =
      &b->bindings[call->bindings_first] - b->plan.segments[call->segment].bases_first;
  bindings[b->base] = bindings[from];
}
/* Every call receives what it scatters where it has gathered. */
static void received_where_packed(Broken *b) {
  for (uint32_t i = 0; i < b->plan.calls_count; i++) {
    const PlanCall *call = &b->plan.calls[i];
    const PlanSegment *segment = &b->plan.segments[call->segment];
    if (b->base - segment->bases_first < segment->bases_count)
      b->bindings[call->bindings_first + base_of(&b->plan, b->scatter, 0) - segment->bases_first] =
          b->bindings[call->bindings_first + b->base - segment->bases_first];
  }
}
static void of_more_members(Broken *b) {
  b->ints[b->records[b->gather].dims_first] *= 2;
  b->ints[b->records[b->gather].dims_first + 2] /= 2;
}
static void wrong_way(Broken *b) {
  b->records[b->gather].kernel = b->records[b->scatter].kernel;
}
static void twice(Broken *b) {
  b->records[b->gather + 1] = b->records[b->gather];
}

static bool is_found(const Plan *plan, const char *what) {
  static ProveReport report;
  if (prove(plan, &report)) return false;
  for (uint32_t i = 0; i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
    if (strstr(report.finding[i], what) != NULL) return true;
  return false;
}

static bool is_found_as(const Plan *plan, void (*break_it)(Broken *b), const char *what) {
  Broken b = {.plan = *plan,
              .records = copied(plan->records, sizeof *plan->records * plan->records_count),
              .operands = copied(plan->operands, sizeof *plan->operands * plan->operands_count),
              .bases = copied(plan->bases, sizeof *plan->bases * plan->bases_count),
              .bindings = copied(plan->bindings, sizeof *plan->bindings * plan->bindings_count),
              .ints = copied(plan->ints, sizeof *plan->ints * plan->ints_count),
              .gather = first_kernel(plan, "gather_pieces"),
              .scatter = first_kernel(plan, "scatter_pieces")};
  b.base = base_of(plan, b.gather, 1);
  b.plan.records = b.records, b.plan.operands = b.operands;
  b.plan.bases = b.bases, b.plan.bindings = b.bindings, b.plan.ints = b.ints;
  break_it(&b);
  bool found = is_found(&b.plan, what);
  free(b.records), free(b.operands), free(b.bases), free(b.bindings), free(b.ints);
  return found;
}

static bool is_found_when(const Plan *plan, void (*break_it)(Broken *b)) {
  return is_found_as(plan, break_it, "what it gathers or scatters");
}

static void check_proof(void) {
  static const char *const more[] = {"train.batch=24 sequences", "train.microbatch=12",
                                     "cluster.devices=2", "parallel.tp=2", NULL};
  Plan plan;
  if (!make_plan("cluster=dgx-h100", more, &plan)) return;
  CHECK(!is_found(&plan, ""));
  CHECK(is_found_as(&plan, not_beside, "nothing orders the two"));
  CHECK(is_found_when(&plan, sometimes));
  CHECK(is_found_as(&plan, from_elsewhere, "is no part of one buffer that is live"));
  CHECK(is_found_as(&plan, in_memory_of_others, "writes operand 2 over operand 0"));
  CHECK(is_found_when(&plan, of_more_members));
  CHECK(is_found_when(&plan, wrong_way));
  CHECK(is_found_when(&plan, twice));
  plan_close(&plan);
  static const char *const turned[] = {"train.batch=24 sequences",
                                       "train.microbatch=12",
                                       "cluster.devices=2",
                                       "parallel.cp=2",
                                       "parallel.cp_kind=ulysses",
                                       "parallel.zero=0",
                                       NULL};
  if (!make_plan("cluster=dgx-h100", turned, &plan)) return;
  CHECK(is_found_as(&plan, received_where_packed, "writes operand 2 over operand 3"));
  plan_close(&plan);
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_packed_%d", (int)getpid());
  job_folder(folder, 1, 2);
  TEST("tensor and sequence parallel: gathers and scatters of activations") {
    CASE(true, true, "train.batch=24 sequences", "train.microbatch=12", "cluster.devices=2",
         "parallel.tp=2");
  }
  TEST("the same, gathered again for backward, beside data parallel") {
    CASE(true, true, "train.batch=24 sequences", "train.microbatch=12", "cluster.devices=4",
         "parallel.tp=2", "parallel.regather=true");
  }
  TEST("Ulysses: heads for tokens and back") {
    CASE(true, true, "train.batch=24 sequences", "train.microbatch=12", "cluster.devices=2",
         "parallel.cp=2", "parallel.cp_kind=ulysses", "parallel.zero=0");
  }
  TEST("zero 1: gradients and parameters in place") {
    CASE(true, true, "train.batch=8 sequences", "cluster.devices=2", "parallel.zero=1");
  }
  TEST("zero 2: gradients into shards, parameters in place") {
    CASE(true, true, "train.batch=8 sequences", "cluster.devices=2", "parallel.zero=2");
  }
  TEST("zero 3: gradients into shards, parameters out of shards") {
    CASE(true, true, "train.batch=8 sequences", "cluster.devices=2", "parallel.zero=3",
         "parallel.zero_keep=1B");
  }
  TEST("zero 3 on stages of a pipeline, gradients rounded on the wire") {
    CASE(true, true, "train.batch=8 sequences", "cluster.devices=4", "parallel.zero=3",
         "parallel.zero_keep=1B", "parallel.pp=2", "precision.reduce=bf16");
  }
  TEST("GPT-2 on two ranks asks for 885 collectives a step") {
    check_real();
  }
  TEST("the proof wants a collective beside what gathers, and just its bytes") {
    check_proof();
  }
  job_folder_remove(folder);
  CHECK_DONE();
}
