/* cuda_run_test.c -- plans for GPUs, run as on GPUs, by this processor: a whole run with arenas in
 * two kinds of memory, queues that are waited for, the kernels for GPUs by the shim, and the
 * stand-ins of cublasLt and NCCL. The same plan trains with this processor's kernels to the same
 * losses, to rounding. What a GPU, its driver and these libraries would do is not seen. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cuda/choices.h"
#include "kernels/cuda/variants.h"
#include "runtime/device/cuda/plugin.h"
#include "runtime/hostile.h"
#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"
#include "tests/unit/lt_stand_in.h"
#include "tests/unit/nccl_stand_in.h"

enum { STEPS = 3, PAGE_BYTES = 2 << 20, DELAY_MOST_NS = 20000 };

static char folder[64], plan_path[128];

/* ---- a GPU of this processor */

static uint32_t count_gpus(void) {
  return 8;
}

static bool choose(uint32_t device, Status *status) {
  return device < count_gpus() || status_fail(status, STATUS_OURS, "GPU %u", device);
}

static bool map(Tier tier, size_t size_bytes, void **at, Status *status) {
  size_t whole = (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  *at = aligned_alloc(PAGE_BYTES, whole);
  if (*at == NULL) return status_fail(status, STATUS_WORLD, "no memory");
  memset(*at, tier == TIER_DEVICE ? 0 : 0xff, whole); /* pinned memory is not cleared */
  return true;
}

static void unmap(Tier tier, void *at) {
  (void)tier;
  free(at);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const DeviceOps *uncounted;
static DeviceOps counted;
static atomic_int replays;

static bool replay_counted(Device *device, const Graph *graph, uint64_t number_first,
                           Status *status) {
  atomic_fetch_add(&replays, 1);
  return uncounted->replay(device, graph, number_first, status);
}

/* Streams: what is issued runs beside the issuer, some of it late; in a hostile build, which opens
 * to a record what it may touch while it is issued, at once. */
static Device *open_streams(const DeviceSetup *setup, Status *status) {
  DeviceSetup with = *setup;
  with.issues_only = !HOSTILE_RUNS_ALONE;
  with.delay_most_ns = DELAY_MOST_NS;
  Device *device = device_cpu_open(&with, status);
  if (device == NULL) return NULL;
  pthread_mutex_lock(&lock);
  if (uncounted == NULL) counted = *device->ops, uncounted = device->ops;
  counted.replay = replay_counted;
  pthread_mutex_unlock(&lock);
  device->ops = &counted;
  return device;
}

static const Kernel *kernels(KernelVariant variant, Status *status) {
  (void)status;
  return variant == KERNEL_FAST ? lt_stand_in_kernels() : kernels_cuda();
}

static bool read_choices(const char *path, Status *status) {
  char why[CHOICES_WHY_BYTES];
  return choices_read(path, why) || status_fail(status, STATUS_USER, "%s", why);
}

static bool write_choices(const char *path, Status *status) {
  char why[CHOICES_WHY_BYTES];
  return choices_write(path, why) || status_fail(status, STATUS_WORLD, "%s", why);
}

static CudaPlugin host = {.version = CUDA_PLUGIN_VERSION,
                          .count = count_gpus,
                          .choose = choose,
                          .memory = {map, unmap},
                          .open = open_streams,
                          .kernels = kernels,
                          .read_choices = read_choices,
                          .write_choices = write_choices,
                          .count_choices = choices_count};

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

static bool uses_graphs;

static bool train(const Plan *plan, const CudaPlugin *cuda, KernelVariant variant,
                  RunRecord *record) {
  RunOptions options = options_of(plan, cuda);
  options.graphs = uses_graphs;
  options.ranks_every = 0;
  options.variant = variant;
  choices_clear();
  bool done = job_run_as(plan, &options, record);
  CHECK(done);
  CHECK_INT(nccl_stand_in_open(), 0);
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

static void check_job(const char *const *more, double most) {
  static RunRecord gpu, again, processor;
  Plan plan;
  if (!make_plan(&plan, more)) return;
  int64_t before = lt_stand_in_count();
  if (train(&plan, &host, KERNEL_FAST, &gpu) && train(&plan, &host, KERNEL_FAST, &again) &&
      train(&plan, NULL, KERNEL_FAST, &processor)) {
    CHECK(lt_stand_in_count() > before);
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
  if (train(&plan, &host, KERNEL_FAST, &first)) {
    CHECK(access(path, R_OK) == 0);
    lt_stand_in_knows(false);
    if (train(&plan, &host, KERNEL_FAST, &kept)) check_same(&kept, &first);
    lt_stand_in_knows(true);
    int64_t before = lt_stand_in_count();
    if (train(&plan, &host, KERNEL_REFERENCE, &plain)) check_close(&plain, &first, 1e-5);
    CHECK_INT(lt_stand_in_count(), before);
  }
  plan_close(&plan);
}

/* Each rank's steps but the first are one call of the host; nothing else is seen of it. */
static void check_graphs(int32_t ranks, const char *const *more) {
  static RunRecord issued, replayed;
  Plan plan;
  if (!make_plan(&plan, more)) return;
  bool done = train(&plan, &host, KERNEL_FAST, &issued);
  CHECK_INT(atomic_load(&replays), 0);
  uses_graphs = true;
  if (done && train(&plan, &host, KERNEL_FAST, &replayed)) {
    check_same(&replayed, &issued);
    CHECK_INT(atomic_load(&replays), ranks * (STEPS - 1));
    for (int step = 1; step <= STEPS; step++)
      CHECK(replayed.comm_bytes[step] == issued.comm_bytes[step]);
    CHECK(replayed.addressed_bytes == issued.addressed_bytes);
  }
  uses_graphs = false;
  atomic_store(&replays, 0);
  plan_close(&plan);
}

static void check_failure(void) {
  Plan plan;
  Status status = {0};
  if (!make_plan(&plan, (const char *[]){"cluster.devices=2", "parallel.dp=2", NULL})) return;
  RunOptions options = options_of(&plan, &host);
  nccl_stand_in_fail(1, 9);
  CHECK(!run_job(&plan, &options, &status));
  CHECK_INT(status.code, STATUS_WORLD);
  CHECK(strstr(status.text, "while its work was under way: unhandled system error") != NULL);
  CHECK_INT(nccl_stand_in_open(), 0);
  plan_close(&plan);
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_cuda_run_%d", (int)getpid());
  (void)snprintf(plan_path, sizeof plan_path, "%s/job.plan", folder);
  job_folder(folder, 1, 2);
  host.nccl = nccl_stand_in();
  TEST("a GPT trains on one GPU as on this processor") {
    check_job((const char *[]){"cluster.devices=1", NULL}, 1e-5);
  }
  TEST("and on two that have a part of its state each") {
    check_job((const char *[]){"cluster.devices=2", "parallel.zero=1", NULL}, 1e-5);
  }
  TEST("and on two that have half of each layer, in bf16") {
    check_job((const char *[]){"cluster.devices=2", "parallel.tp=2", "precision=bf16", NULL}, 1e-2);
  }
  TEST("algorithms are kept beside the plan") {
    check_choices();
  }
  if (!HOSTILE_RUNS_ALONE) { /* nothing is under way there, and nothing captured */
    TEST("steps as graphs are the same steps") {
      check_graphs(1, (const char *[]){"cluster.devices=1", NULL});
      check_graphs(2, (const char *[]){"cluster.devices=2", "parallel.zero=3", NULL});
      check_graphs(2, (const char *[]){"cluster.devices=2", "parallel.pp=2", NULL});
    }
    TEST("a communicator that fails while its work is under way ends the job, and says so") {
      check_failure();
    }
  }
  job_folder_remove(folder);
  CHECK_DONE();
}
