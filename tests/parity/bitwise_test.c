/* bitwise_test.c -- the same bits: of a run and its repetition, of a run that stopped and went
 * on, and of ranks in another order. Checkpoints hold every persistent number, so their files
 * are compared, and with them the losses and norms of all steps. */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"

#ifdef __SANITIZE_THREAD__ /* looks at accesses, which are the same in each step */
#define STEPS_OPTION "train.steps=8"
enum { STEPS = 8 };
#else
#define STEPS_OPTION "train.steps=50"
enum { STEPS = 50 };
#endif
enum { BATCH = 8, HALF = STEPS / 2, CONTEXT = 32, VOCAB = 64 };
enum { TOKENS = BATCH * CONTEXT * STEPS * 2 / 3 }; /* an epoch and a half */

static char folder[64];

typedef struct File {
  char *bytes;
  size_t size_bytes;
} File;

/* The tensors of rank 0's part, which is the only one. The header before them and the sums after
 * them also tell which start of the run has saved. */
static File read_checkpoint(int64_t step) {
  enum { BLOCK_BYTES = 1 << 20 };
  char path[160];
  (void)snprintf(path, sizeof path, "%s/run/checkpoint/step_%08lld/part-00000.safetensors", folder,
                 (long long)step);
  File file = {0};
  FILE *stream = fopen(path, "rb");
  if (!stream) return file;
  fseek(stream, 0, SEEK_END);
  file.size_bytes = (size_t)ftell(stream);
  rewind(stream);
  file.bytes = malloc(file.size_bytes);
  if (file.bytes && fread(file.bytes, 1, file.size_bytes, stream) != file.size_bytes)
    file.size_bytes = 0;
  fclose(stream);
  uint64_t header = 0;
  if (file.size_bytes < 4096) return file;
  memcpy(&header, file.bytes, sizeof header);
  header += sizeof header;
  size_t blocks =
      file.size_bytes / BLOCK_BYTES + 1; /* the last has room for the sums in these jobs */
  file.size_bytes -= header + 8 * (blocks + 1);
  memmove(file.bytes, file.bytes + header, file.size_bytes);
  return file;
}

static void check_same_file(File got, File want) {
  CHECK(want.size_bytes > 0);
  CHECK_INT(got.size_bytes, want.size_bytes);
  if (got.size_bytes == want.size_bytes && got.bytes && want.bytes)
    CHECK(memcmp(got.bytes, want.bytes, want.size_bytes) == 0);
}

static void check_same_record(const RunRecord *got, const RunRecord *want) {
  CHECK_INT(got->last_step, STEPS);
  for (int64_t step = 1; step <= STEPS; step++) {
    CHECK(got->loss[step] == want->loss[step]);
    CHECK(got->norm[step] == want->norm[step]);
  }
}

static void forget_run(void) {
  char run[80];
  (void)snprintf(run, sizeof run, "%s/run", folder);
  job_folder_remove(run);
}

/* Runs to `steps` and returns the checkpoint of the last one. */
static File run_to(const Plan *plan, int64_t steps, RunRecord *record) {
  CHECK(job_run(plan, steps, record));
  return read_checkpoint(steps);
}

static void check_job(const char *model, const char *devices, const char *other, const char *more) {
  char data[128], log_dir[128], plan_path[128];
  (void)snprintf(data, sizeof data, "data.train=%s/tokens.u8", folder);
  (void)snprintf(log_dir, sizeof log_dir, "log.dir=%s/run", folder);
  (void)snprintf(plan_path, sizeof plan_path, "%s/job.plan", folder);
  JobChanges changes = {{"data=tokens", data, "data.format=u8", log_dir, "train.batch=8 sequences",
                         STEPS_OPTION, "checkpoint.resume=auto", devices, other, more}};
  Plan plan;
  static RunRecord record, again;
  bool planned = job_plan(model, &changes, plan_path, &plan);
  CHECK(planned);
  if (!planned) return;
  forget_run();
  File whole = run_to(&plan, STEPS, &record);
  forget_run();
  File repeated = run_to(&plan, STEPS, &again);
  check_same_record(&again, &record);
  check_same_file(repeated, whole);
  forget_run();
  File half = run_to(&plan, HALF, &again);
  CHECK_INT(again.last_step, HALF);
  CHECK(half.size_bytes > 0);
  File resumed = run_to(&plan, STEPS, &again);
  check_same_record(&again, &record);
  check_same_file(resumed, whole);
  plan_close(&plan);
  free(whole.bytes), free(repeated.bytes), free(half.bytes), free(resumed.bytes);
}

static void check_plan_bytes(void) {
  Plan first, second;
  char path[2][128];
  JobChanges none = {{NULL}};
  for (int i = 0; i < 2; i++)
    (void)snprintf(path[i], sizeof path[i], "%s/same_%d.plan", folder, i);
  bool planned =
      job_plan("gpt2", &none, path[0], &first) && job_plan("gpt2", &none, path[1], &second);
  CHECK(planned);
  if (!planned) return;
  CHECK_INT(first.mapped_bytes, second.mapped_bytes);
  CHECK(first.mapped_bytes == second.mapped_bytes &&
        memcmp(first.mapped, second.mapped, first.mapped_bytes) == 0);
  plan_close(&first);
  plan_close(&second);
}

enum { FEW_STEPS = 6 };

/* A short run of so many ranks in bf16, its parameters fp32 or of a master; NULL: of no other key.
 */
static void run_stored(const char *param, const char *devices, const char *zero, const char *more,
                       RunRecord *record) {
  char log_dir[128], plan_path[128];
  (void)snprintf(log_dir, sizeof log_dir, "log.dir=%s/run", folder);
  (void)snprintf(plan_path, sizeof plan_path, "%s/job.plan", folder);
  JobChanges changes = {{log_dir, "train.batch=8 sequences", "train.microbatch=2", "train.steps=6",
                         "precision=bf16", param, devices, zero, more}};
  Plan plan;
  bool planned = job_plan("gpt2", &changes, plan_path, &plan);
  CHECK(planned);
  if (!planned) return;
  forget_run();
  CHECK(job_run(&plan, 0, record));
  CHECK_INT(record->last_step, FEW_STEPS);
  plan_close(&plan);
}

static void check_stored(const char *devices, const char *zero, const char *more) {
  static RunRecord master, cast;
  const bool reshards = strstr(more, "reshard") != NULL && strstr(zero, "3") == NULL;
  run_stored("precision.param=bf16", devices, zero, reshards ? NULL : more, &master);
  run_stored("precision.param=fp32", devices, zero, more, &cast);
  for (int64_t step = 1; step <= FEW_STEPS; step++) {
    CHECK(cast.loss[step] == master.loss[step]);
    CHECK(cast.norm[step] == master.norm[step]);
  }
}

/* Whole tensors on each of four ranks, or a piece of each. */
static void check_layouts(const char *precision, const char *more) {
  static RunRecord whole, pieces;
  run_stored(precision, "cluster.devices=4", "parallel.zero=0", more, &whole);
  run_stored(precision, "cluster.devices=4", "parallel.zero=1", more, &pieces);
  for (int64_t step = 1; step <= FEW_STEPS; step++)
    CHECK(pieces.loss[step] == whole.loss[step]);
  run_stored(precision, "cluster.devices=4", "parallel.zero=3", more, &pieces);
  for (int64_t step = 1; step <= FEW_STEPS; step++)
    CHECK(pieces.loss[step] == whole.loss[step]);
}

/* Eight ranks in the order, and some steps of them. */
static void run_in_order(const char *order, const char *pp, RunRecord *record) {
  char log_dir[128], plan_path[128], order_text[80];
  (void)snprintf(log_dir, sizeof log_dir, "log.dir=%s/run", folder);
  (void)snprintf(plan_path, sizeof plan_path, "%s/job.plan", folder);
  (void)snprintf(order_text, sizeof order_text, "parallel.order=%s", order);
  JobChanges changes = {{log_dir, "train.batch=8 sequences", "train.microbatch=1", "train.steps=6",
                         "cluster.devices=8", "parallel.tp=2", pp, order_text}};
  Plan plan;
  bool planned = job_plan("gpt2", &changes, plan_path, &plan);
  CHECK(planned);
  if (!planned) return;
  uint32_t slants = 0;
  for (uint32_t axis = 0; axis < plan.axes_count; axis++)
    slants |= plan.axes[axis].slant_axes;
  CHECK((slants != 0) == (strchr(order, '-') != NULL));
  forget_run();
  CHECK(job_run(&plan, 0, record));
  CHECK_INT(record->last_step, FEW_STEPS);
  plan_close(&plan);
}

static void check_order(const char *order, const char *pp) {
  static RunRecord usual, other;
  run_in_order("tp cp pp dp", pp, &usual);
  run_in_order(order, pp, &other);
  for (int64_t step = 1; step <= FEW_STEPS; step++) {
    CHECK(other.loss[step] == usual.loss[step]);
    CHECK(other.norm[step] == usual.norm[step]);
  }
}

/* One of two ways to run the job of a set, whose keys are given: to `steps`, going on from what
 * another way has left in the same folder. */
static void run_offloaded(const char *const *set, const char *where, int64_t steps,
                          RunRecord *record) {
  char log_dir[128], plan_path[128], offload[160];
  (void)snprintf(log_dir, sizeof log_dir, "log.dir=%s/run", folder);
  (void)snprintf(plan_path, sizeof plan_path, "%s/job.plan", folder);
  (void)snprintf(offload, sizeof offload, "offload%s", where); /* ".KEY=WORD", or "={ ... }" */
  JobChanges changes = {{log_dir, "train.batch=8 sequences", "train.microbatch=1", "train.steps=6",
                         "checkpoint.resume=auto", offload, set[0], set[1], set[2], set[3]}};
  Plan plan;
  bool planned = job_plan("llama", &changes, plan_path, &plan);
  CHECK(planned);
  if (!planned) return;
  CHECK(job_run(&plan, steps, record));
  CHECK_INT(record->last_step, steps);
  plan_close(&plan);
}

/* States on the device, in host memory, and moved from there to here in the middle of a run. */
static void check_offload(const char *where, const char *a, const char *b, const char *c,
                          const char *d) {
  static RunRecord stays, leaves, begins, returns;
  const char *const set[] = {a, b, c, d};
  forget_run();
  run_offloaded(set, ".optimizer=none", FEW_STEPS, &stays);
  forget_run();
  run_offloaded(set, where, FEW_STEPS, &leaves);
  forget_run();
  run_offloaded(set, where, FEW_STEPS / 2, &begins);
  run_offloaded(set, ".optimizer=none", FEW_STEPS, &returns);
  for (int64_t step = 1; step <= FEW_STEPS; step++) {
    CHECK(leaves.loss[step] == stays.loss[step]);
    CHECK(leaves.norm[step] == stays.norm[step]);
    const RunRecord *half = step <= FEW_STEPS / 2 ? &begins : &returns;
    CHECK(half->loss[step] == stays.loss[step]);
    CHECK(half->norm[step] == stays.norm[step]);
  }
}

static void test_states(void) {
  TEST("states in host memory: the bits of states on the device, also of a run that moves them") {
    check_offload(".optimizer=cpu", "cluster.devices=1", "precision=bf16", "memory.recompute=block",
                  NULL);
    check_offload(".optimizer=cpu", "cluster.devices=1", "precision=bf16", "precision.master=split",
                  NULL);
    check_offload(".optimizer=cpu", "cluster.devices=2", "precision=bf16", "parallel.zero=1",
                  "optimizer.clip=0.1");
    check_offload(".optimizer=cpu", "cluster.devices=2", "precision=bf16", "parallel.zero=3",
                  "precision.update=kahan");
    check_offload(".optimizer=cpu", "cluster.devices=4", "parallel.tp=2", "parallel.cp=2", NULL);
    check_offload(".optimizer={ \"cpu\", share = \"40%\" }", "cluster.devices=4", "parallel.pp=2",
                  "parallel.zero=2", NULL);
  }
}

static void test_frames(void) {
  TEST("what forward keeps waits in host memory: the bits of what stays, in any pipeline") {
    static const char all[] = "={ activations = \"cpu\", prefetch = 0 }";
    static const char half[] =
        "={ optimizer = \"cpu\", activations = { \"cpu\", share = \"50%\" } }";
    check_offload(all, "cluster.devices=1", "memory.recompute=none", "model.layers=4", NULL);
    check_offload("={ activations = \"cpu\", prefetch = 1 }", "cluster.devices=1",
                  "memory.recompute={\"every\", blocks=2}", "model.layers=6", NULL);
    check_offload(all, "cluster.devices=2", "parallel.zero=3", "precision=bf16", "model.layers=4");
    check_offload(half, "cluster.devices=2", "parallel.pp=2", "memory.recompute=none",
                  "model.layers=4");
    check_offload(all, "cluster.devices=2", "parallel.pp=2", "parallel.pipeline=zb-v",
                  "model.layers=4");
    check_offload(all, "cluster.devices=4", "parallel.pp=2", "parallel.pipeline=gpipe",
                  "parallel.tp=2");
  }
}

static void test_weights(void) {
  TEST("weights in host memory: the bits of weights on the device") {
    static const char all[] = "={ optimizer = \"cpu\", weights = \"cpu\" }";
    static const char half[] =
        "={ optimizer = { \"cpu\", share = \"50%\" }, weights = \"cpu\", prefetch = 0 }";
    check_offload(all, "cluster.devices=1", "precision=bf16", "memory.recompute=block", NULL);
    check_offload(all, "cluster.devices=1", "precision={\"bf16\", param=\"fp32\"}",
                  "model.layers=4", NULL);
    check_offload(half, "cluster.devices=2", "precision=bf16", "parallel.zero=3",
                  "parallel.zero_keep=0B");
    check_offload(all, "cluster.devices=4", "parallel.pp=2", "parallel.zero=3", "model.layers=4");
    check_offload(
        "={ optimizer = \"cpu\", weights = \"cpu\", activations = \"cpu\", prefetch = 1 }",
        "cluster.devices=2", "precision.update=kahan", "precision=bf16", "parallel.tp=2");
  }
}

static void test_updates(void) {
  TEST("states that stream from host memory to updates on the device: the bits of those there") {
    static const char all[] = "={ optimizer = \"cpu\", update = \"device\" }";
    check_offload(all, "cluster.devices=1", "precision=bf16", "memory.recompute=block", NULL);
    check_offload(all, "cluster.devices=2", "parallel.zero=1", "precision=bf16",
                  "precision.master=split");
    check_offload(
        "={ optimizer = { \"cpu\", share = \"50%\" }, update = \"device\", activations = \"cpu\" }",
        "cluster.devices=4", "parallel.pp=2", "parallel.zero=2", "model.layers=4");
    check_offload(all, "cluster.devices=2", "parallel.zero=3", "precision=bf16",
                  "precision.moments=int8");
  }
}

static void test_grads(void) {
  TEST("gradients that accumulate in host memory: the bits of those on the device") {
    static const char all[] = "={ optimizer = \"cpu\", grads = \"cpu\" }";
    check_offload(all, "cluster.devices=1", "precision=bf16", "memory.recompute=block", NULL);
    check_offload(all, "cluster.devices=1", "train.microbatch=8", "precision=bf16", NULL);
    check_offload(all, "cluster.devices=2", "parallel.zero=0", "optimizer.clip=0.1", NULL);
    check_offload(all, "cluster.devices=2", "parallel.zero=1",
                  "precision={\"bf16\", reduce=\"bf16\"}", "model.layers=4");
    check_offload("={ optimizer = { \"cpu\", share = \"50%\" }, grads = \"cpu\", prefetch = 0 }",
                  "cluster.devices=4", "parallel.zero=2", "parallel.pp=2", "model.layers=4");
    check_offload("={ optimizer = \"cpu\", grads = \"cpu\", weights = \"cpu\", "
                  "activations = \"cpu\" }",
                  "cluster.devices=4", "parallel.zero=3", "parallel.cp=2", "precision=bf16");
  }
}

static void test_files(void) {
  TEST("states in files: the bits of states on the device, of a run that moves them, too") {
    char all[120], half[160];
    (void)snprintf(all, sizeof all, "={ optimizer = \"nvme\", path = \"%s\" }", folder);
    (void)snprintf(half, sizeof half,
                   "={ optimizer = { \"nvme\", share = \"50%%\" }, weights = \"cpu\", path = "
                   "\"%s\" }",
                   folder);
    check_offload(all, "cluster.devices=1", "precision=bf16", "model.layers=4", NULL);
    check_offload(half, "cluster.devices=2", "precision=bf16", "parallel.zero=3",
                  "precision.moments=int8");
    check_offload(all, "cluster.devices=4", "parallel.pp=2", "parallel.zero=2",
                  "optimizer={\"lion\", lr=1e-4}");
  }
  TEST("weights in files, too: all, and of half of the layers") {
    char all[120], half[160];
    (void)snprintf(all, sizeof all, "={ \"nvme\", path = \"%s\" }", folder);
    (void)snprintf(
        half, sizeof half,
        "={ optimizer = { \"nvme\", share = \"50%%\" }, weights = \"nvme\", prefetch = 0, "
        "path = \"%s\" }",
        folder);
    check_offload(all, "cluster.devices=1", "precision=bf16", "model.layers=4", NULL);
    check_offload(all, "cluster.devices=4", "parallel.pp=2", "parallel.zero=3",
                  "precision={\"bf16\", param=\"fp32\"}");
    check_offload(half, "cluster.devices=2", "precision=bf16", "parallel.zero=3",
                  "precision.update=kahan");
  }
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_bitwise_%d", (int)getpid());
  job_folder(folder, TOKENS, VOCAB);
  TEST("two compiles of a job are the same bytes") {
    check_plan_bytes();
  }
  TEST("f32, one rank, AdamW: repeated and resumed runs are the same bits") {
    check_job("gpt2", "cluster.devices=1", "model.dropout=0.1", NULL);
  }
  TEST("f32, four ranks, SGD") {
    check_job("llama", "cluster.devices=4", "optimizer=sgd", "optimizer.lr=0.1");
  }
  TEST("f32, four ranks, Lion") {
    check_job("llama", "cluster.devices=4", "optimizer=lion", "optimizer.lr=1e-4");
  }
  TEST("bf16 with master weights, two ranks") {
    check_job("gpt2", "cluster.devices=2", "model.dropout=0.1", "precision=bf16");
  }
  TEST("split masters and compensations, saved and resumed as they are") {
    check_job("gpt2", "cluster.devices=2", "precision.master=split", "precision=bf16");
    check_job("llama", "cluster.devices=2", "precision.update=kahan", "precision=bf16");
  }
  TEST("products of codes, whose scales are of the moment: nothing of them is saved") {
    check_job("gpt2", "cluster.devices=2", "precision={\"bf16\", linear=\"fp8\"}", NULL);
  }
  TEST("weights that round by chance, the same on all layouts") {
    check_job("llama", "cluster.devices=2", "precision.update=stochastic", "precision=bf16");
    check_layouts("precision.update=stochastic", NULL);
  }
  TEST("moments of bf16 and in codes, saved and resumed as they are, the same on all layouts") {
    check_job("gpt2", "cluster.devices=2", "precision.moments=bf16", "parallel.zero=1");
    check_job("llama", "cluster.devices=2", "precision.moments=int8", "parallel.zero=3");
    check_layouts("precision.moments=bf16", NULL);
    check_layouts("precision.moments=int8", NULL);
    check_layouts("precision.moments=int8", "optimizer={\"lion\", lr=1e-4}");
  }
  TEST("bf16 of fp32 parameters, which are cast: the bits of a master") {
    check_stored("cluster.devices=1", "parallel.zero=0", "parallel.zero_reshard=step");
    check_stored("cluster.devices=1", "parallel.zero=0", "memory.recompute=block");
    check_stored("cluster.devices=2", "parallel.zero=1", "parallel.zero_reshard=chunk");
    check_stored("cluster.devices=2", "parallel.zero=2", "model.dropout=0.1");
    check_stored("cluster.devices=4", "parallel.zero=3", "parallel.zero_keep=0B");
    check_stored("cluster.devices=4", "parallel.zero=3", "parallel.pp=2");
  }
  test_states();
  test_frames();
  test_weights();
  test_grads();
  test_updates();
  test_files();
  TEST("the order of ranks changes no bit: parts, slants by one axis and by two") {
    check_order("dp*2 tp cp pp dp", "parallel.pp=1");
    check_order("dp*2 tp cp pp dp-tp", "parallel.pp=1");
    check_order("tp dp pp-tp cp", "parallel.pp=2");
    check_order("tp pp cp dp-tp-pp", "parallel.pp=2");
  }
  job_folder_remove(folder);
  CHECK_DONE();
}
