/* cuda_run_test.c -- plans for GPUs, run as on GPUs, by this processor: a whole run with arenas in
 * two kinds of memory, queues that are waited for, the kernels for GPUs by the shim, and the
 * stand-ins of cublasLt, cuDNN and NCCL. The same plan trains with this processor's kernels to the
 * same losses, to rounding. What a GPU, its driver and these libraries would do is not seen. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cuda/choices.h"
#include "runtime/plan/plan_io.h"
#include "runtime/replay/hostile.h"
#include "tests/parity/cuda_host.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"
#include "tests/unit/cudnn_stand_in.h"
#include "tests/unit/nccl_stand_in.h"

enum { STEPS = 3, DELAY_MOST_NS = 20000, FAILING_GRAPH_CALL = 20 };

static char folder[64], plan_path[128];
static const CudaPlugin *host;

/* ---- runs */

static bool make_plan(Plan *plan, const char *const *more) {
  char run[128];
  (void)snprintf(run, sizeof run, "log.dir=%s/run", folder);
  /* Small: threads of a block are fibers, and slow. */
  JobChanges changes = {{run, "cluster=dgx-h100", "train.steps=3", "train.batch=4 sequences",
                         "model.layers=2", "model.positions=8", "train.microbatch=1"}};
  for (int32_t i = 0; more[i] != NULL; i++)
    changes.text[7 + i] = more[i];
  bool planned = job_plan("gpt2", &changes, plan_path, plan);
  CHECK(planned);
  return planned;
}

static RunOptions options_of(const Plan *plan, const CudaPlugin *cuda) {
  char run[80];
  (void)snprintf(run, sizeof run, "%s/run", folder);
  job_folder_remove(run);
  RunOptions options = run_defaults(plan);
  options.quiet = true;
  options.plan_path = plan_path;
  options.cuda = cuda;
  options.on_cpu = cuda == NULL;
  return options;
}

static bool uses_graphs, holds_arena, is_deterministic;

static bool train(const Plan *plan, const CudaPlugin *cuda, KernelVariant variant,
                  RunRecord *record) {
  RunOptions options = options_of(plan, cuda);
  options.graphs = uses_graphs;
  options.holds_arena = holds_arena;
  options.deterministic = is_deterministic;
  options.ranks_every = 0;
  options.variant = variant;
  choices_clear();
  bool done = job_run_as(plan, &options, record);
  CHECK(done);
  CHECK_INT(nccl_stand_in_open(), 0);
  CHECK_INT(nccl_stand_in_wrongs(), 0);
  return done;
}

static void check_close(const RunRecord *a, const RunRecord *b, double most) {
  for (int step = 1; step <= STEPS; step++) {
    CHECK(fabs(a->loss[step] / b->loss[step] - 1) <= most);
    CHECK(fabs(a->norm[step] / b->norm[step] - 1) <= 10 * most);
  }
}

static void check_same(const RunRecord *a, const RunRecord *b) {
  for (int step = 1; step <= STEPS; step++)
    CHECK(a->loss[step] == b->loss[step] && a->norm[step] == b->norm[step]);
}

static void check_job(const char *const *more, bool is_bf16, double most) {
  static RunRecord gpu, again, processor;
  Plan plan;
  if (!make_plan(&plan, more)) return;
  int64_t before = lt_stand_in_count(), attended = cudnn_stand_in_seen().calls;
  if (train(&plan, host, KERNEL_FAST, &gpu) && train(&plan, host, KERNEL_FAST, &again) &&
      train(&plan, NULL, KERNEL_FAST, &processor)) {
    CHECK(lt_stand_in_count() > before);
    CHECK((cudnn_stand_in_seen().calls > attended) == is_bf16);
    CHECK(gpu.loss[STEPS] < gpu.loss[1]);
    CHECK(gpu.planned_bytes == gpu.addressed_bytes);
    check_same(&again, &gpu);
    check_close(&gpu, &processor, most);
  }
  plan_close(&plan);
}

/* The library is asked in the first run only; the reference does without it. */
static void check_choices(void) {
  static RunRecord first, kept, plain;
  Plan plan;
  char path[160];
  (void)snprintf(path, sizeof path, "%s.products", plan_path);
  (void)unlink(path);
  if (!make_plan(&plan, (const char *[]){"cluster.devices=1", NULL})) return;
  if (train(&plan, host, KERNEL_FAST, &first)) {
    CHECK(access(path, R_OK) == 0);
    lt_stand_in_knows(false);
    if (train(&plan, host, KERNEL_FAST, &kept)) check_same(&kept, &first);
    lt_stand_in_knows(true);
    int64_t before = lt_stand_in_count();
    if (train(&plan, host, KERNEL_REFERENCE, &plain)) check_close(&plain, &first, 1e-5);
    CHECK_INT(lt_stand_in_count(), before);
  }
  plan_close(&plan);
}

/* The device's updates are the same wherever states are; the host's round some operations
 * differently. */
static void check_offload(void) {
  static const struct {
    const char *offload;
    bool is_same;
  } sets[] = {{"offload={ optimizer = \"cpu\", update = \"device\" }", true},
              {"offload={ optimizer = \"cpu\", update = \"host\" }", false},
              {"offload={ optimizer = \"cpu\", grads = \"cpu\" }", false}};
  static RunRecord stays, leaves;
  Plan plan;
  if (!make_plan(&plan, (const char *[]){"cluster.devices=1", "precision=bf16", NULL})) return;
  const bool done = train(&plan, host, KERNEL_FAST, &stays);
  plan_close(&plan);
  for (size_t i = 0; done && i < sizeof sets / sizeof *sets; i++) {
    const char *more[] = {"cluster.devices=1", "precision=bf16", sets[i].offload, NULL};
    if (!make_plan(&plan, more)) return;
    if (train(&plan, host, KERNEL_FAST, &leaves) && sets[i].is_same)
      check_same(&leaves, &stays);
    else
      check_close(&leaves, &stays, 1e-5);
    plan_close(&plan);
  }
}

/* Each rank's steps but the first are one call of the host; nothing else is seen of it. */
static void check_graphs(int32_t ranks, const char *const *more) {
  static RunRecord issued, replayed;
  Plan plan;
  if (!make_plan(&plan, more)) return;
  bool done = train(&plan, host, KERNEL_FAST, &issued);
  CHECK_INT(cuda_host_replays(), 0);
  uses_graphs = true;
  if (done && train(&plan, host, KERNEL_FAST, &replayed)) {
    check_same(&replayed, &issued);
    CHECK_INT(cuda_host_replays(), ranks * (STEPS - 1));
    for (int step = 1; step <= STEPS; step++)
      CHECK(replayed.comm_bytes[step] == issued.comm_bytes[step]);
    CHECK(replayed.addressed_bytes == issued.addressed_bytes);
  }
  uses_graphs = false;
  plan_close(&plan);
}

/* One rank's capture fails: on all ranks the steps are issued, which are the same steps. */
static void check_uncaptured(const char *const *more) {
  static RunRecord issued, again;
  Plan plan;
  if (!make_plan(&plan, more)) return;
  bool done = train(&plan, host, KERNEL_FAST, &issued);
  uses_graphs = true;
  cuda_host_refuse(1);
  if (done && train(&plan, host, KERNEL_FAST, &again)) {
    check_same(&again, &issued);
    CHECK_INT(cuda_host_replays(), 0);
    for (int step = 1; step <= STEPS; step++)
      CHECK(again.comm_bytes[step] == issued.comm_bytes[step]);
  }
  cuda_host_refuse(0);
  uses_graphs = false;
  plan_close(&plan);
}

/* NCCL is told of every rank's arena once a communicator, and the numbers stay. */
static void check_held(void) {
  static RunRecord plain, held;
  Plan plan;
  if (!make_plan(&plan, (const char *[]){"cluster.devices=2", "parallel.zero=3", NULL})) return;
  bool done = train(&plan, host, KERNEL_FAST, &plain);
  CHECK_INT(nccl_stand_in_held(), 0);
  holds_arena = true;
  if (done && train(&plan, host, KERNEL_FAST, &held)) check_same(&held, &plain);
  holds_arena = false;
  CHECK(plan.comms_count > 1);
  CHECK_INT(nccl_stand_in_held(), 2 * (int)plan.comms_count);
  plan_close(&plan);
}

/* Gives every kept algorithm another number than the library knows it by. */
static void spoil_choices(const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "r");
  size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
  CHECK(length > 0);
  if (file != NULL) (void)fclose(file);
  for (char *at = text; (at = strstr(at, " = ")) != NULL; at++)
    at[3] = at[3] == 'f' ? '0' : 'f';
  file = fopen(path, "w");
  CHECK(file != NULL && fwrite(text, 1, length, file) == length);
  if (file != NULL) (void)fclose(file);
}

/* Two runs of two ranks from the same kept algorithms have the same bits; and where the library
 * does not take one of them, a deterministic run ends, and another chooses anew. */
static void check_deterministic(void) {
  static RunRecord first, again, anew;
  Plan plan;
  Status status = {0};
  char path[160];
  (void)snprintf(path, sizeof path, "%s.products", plan_path);
  (void)unlink(path);
  if (!make_plan(&plan, (const char *[]){"cluster.devices=2", "parallel.tp=2", NULL})) return;
  is_deterministic = true;
  if (train(&plan, host, KERNEL_FAST, &first) && train(&plan, host, KERNEL_FAST, &again))
    check_same(&again, &first);
  CHECK_TEXT(getenv("NCCL_NVLS_ENABLE"), "0");
  CHECK_TEXT(getenv("NCCL_COLLNET_ENABLE"), "0");
  spoil_choices(path);
  RunOptions options = options_of(&plan, host);
  options.deterministic = true;
  choices_clear();
  CHECK(!run_job(&plan, &options, &status));
  CHECK(strstr(status.text, "does not take the algorithm any more that is kept") != NULL);
  CHECK_INT(nccl_stand_in_open(), 0);
  is_deterministic = false;
  if (train(&plan, host, KERNEL_FAST, &anew)) check_same(&anew, &first);
  plan_close(&plan);
}

/* In the first step, or when steps are graphs. */
static void check_failure(bool as_graphs) {
  Plan plan;
  Status status = {0};
  if (!make_plan(&plan, (const char *[]){"cluster.devices=2", "parallel.dp=2", NULL})) return;
  RunOptions options = options_of(&plan, host);
  options.graphs = as_graphs;
  options.ranks_every = 0;
  (void)cuda_host_replays();
  nccl_stand_in_fail(1, as_graphs ? FAILING_GRAPH_CALL : 9);
  CHECK(!run_job(&plan, &options, &status));
  CHECK_INT(status.code, STATUS_WORLD);
  CHECK(strstr(status.text, "while its work was under way: unhandled system error") != NULL);
  CHECK((cuda_host_replays() > 0) == as_graphs);
  CHECK_INT(nccl_stand_in_open(), 0);
  CHECK_INT(nccl_stand_in_wrongs(), 0);
  plan_close(&plan);
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_cuda_run_%d", (int)getpid());
  (void)snprintf(plan_path, sizeof plan_path, "%s/job.plan", folder);
  job_folder(folder, 1, 2);
  host = cuda_host_plugin(DELAY_MOST_NS);
  /* A hostile build under a sanitizer takes long: one strategy, with attention and products by the
   * stand-ins, the ring and collectives. The kernels of ours run in check_choices, below. */
  TEST("a GPT trains as on this processor on two that have half of each sequence, whose keys go "
       "round") {
    check_job((const char *[]){"cluster.devices=2", "parallel.cp=2", "precision=bf16",
                               "model.positions=16", NULL},
              true, 1e-2);
  }
  if (!HOSTILE_RUNS_ALONE) {
    TEST("and on one GPU") {
      check_job((const char *[]){"cluster.devices=1", NULL}, false, 1e-5);
    }
    TEST("and on two that have a part of its state each") {
      check_job((const char *[]){"cluster.devices=2", "parallel.zero=1", NULL}, false, 1e-5);
      CHECK_TEXT(getenv("NCCL_LAUNCH_ORDER_IMPLICIT"), "1");
    }
    TEST("and on two that have half of each layer, in bf16") {
      check_job((const char *[]){"cluster.devices=2", "parallel.tp=2", "precision=bf16", NULL},
                true, 1e-2);
    }
  }
  TEST("algorithms are kept beside the plan") {
    check_choices();
  }
  if (!HOSTILE_RUNS_ALONE) { /* nothing is under way there, nothing captured, and all takes long */
    TEST("a deterministic run takes the kept algorithms, or none") {
      check_deterministic();
    }
    TEST("NCCL is told of arenas, and lets go of them") {
      check_held();
    }
    TEST("states in host memory, updated there or on the device") {
      check_offload();
    }
    TEST("steps as graphs are the same steps") {
      check_graphs(1, (const char *[]){"cluster.devices=1", NULL});
      check_graphs(2, (const char *[]){"cluster.devices=2", "parallel.zero=3", NULL});
      check_graphs(2, (const char *[]){"cluster.devices=2", "parallel.pp=2", NULL});
    }
    TEST("steps that one rank cannot capture are issued on all") {
      check_uncaptured((const char *[]){"cluster.devices=1", NULL});
      check_uncaptured((const char *[]){"cluster.devices=2", "parallel.zero=3", NULL});
    }
    TEST("a communicator that fails while its work is under way ends the job, and says so") {
      check_failure(false);
    }
    TEST("and where its calls are in graphs these go first, for NCCL waits for them") {
      check_failure(true);
    }
  }
  job_folder_remove(folder);
  CHECK_DONE();
}
