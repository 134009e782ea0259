/* models_test.c -- whole models against what models/record.py recorded with PyTorch: twenty steps
 * of a batch in two micro-batches, clipped, from the same weights.
 *
 * f32: losses and norms 1e-5 relative, at every step; in step 1 each number of each gradient within
 * 1e-4 rms + 1e-8, with rms that of its tensor.
 *
 * bf16 keeps activations and parameters in 8 bits of precision, so no two orders of summation
 * agree. What is right is then that we stray from f32 no further than PyTorch does when it computes
 * the same in bf16 (runs `half` and `autocast`): at most STRAY times as far, for each gradient
 * tensor, and for losses and norms of all steps, where the farthest step counts.
 *
 * Narrow compute beside fp32 parameters, in fp16 with GradScaler's loss scale: losses and norms of
 * all steps stray from those in double precision at most PRECISION_STRAY times as far as PyTorch's
 * (models/record_precision.py), where the farthest step counts. */
#include <stdlib.h>
#include <unistd.h>

#include "kernels/math/bf16.h"
#include "kernels/math/f16.h"
#include "runtime/plan/plan_inputs.h"
#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/models/recorded.h"
#include "tests/parity/models/trainer.h"
#include "tests/unit/check.h"

enum { BATCH_TOKENS_EXTRA = 1 }; /* recorded sequences hold one token more than the context */

static const double F32_LOSS = 1e-5, F32_GRADIENT = 1e-4, F32_GRADIENT_LEAST = 1e-8;
static const double STRAY = 2, PRECISION_STRAY = 3;

typedef struct Experiment {
  const char *model, *run;
  KernelVariant variant;
  bool is_bf16;
  JobChanges changes;
} Experiment;

/* The deviations of a run, as parts of their bounds. */
typedef struct Seen {
  const Recorded *recorded;
  const Experiment *experiment;
  double loss, norm, gradient;
  char worst[256];
} Seen;

/* ---- what the job reads and starts from */

static void give_input(void *context, int64_t step, int64_t sample, const PlanInput *input,
                       const char *name, void *out) {
  const Recorded *recorded = context;
  bool columns = input_is_columns(input->role);
  int64_t count = input->sample_elements;
  const RecordedEntry *entry = recorded_find(recorded, "inputs/%s", columns ? name : "tokens");
  int64_t steps = recorded_find(recorded, "loss/adamw")->count;
  int64_t row = columns ? count : count + BATCH_TOKENS_EXTRA;
  int64_t batch = entry->count / steps / row;
  const float *from = entry->values + ((step - 1) * batch + sample) * row;
  if (input->role == INPUT_TARGETS) from += BATCH_TOKENS_EXTRA;
  for (int64_t i = 0; i < count; i++)
    if (columns && input->dtype == DTYPE_BF16)
      ((uint16_t *)out)[i] = bf16_from_float(from[i]);
    else if (columns && input->dtype == DTYPE_F16)
      ((uint16_t *)out)[i] = f16_from_float(from[i]);
    else if (columns && input->dtype == DTYPE_F32)
      ((float *)out)[i] = from[i];
    else
      ((int32_t *)out)[i] = (int32_t)from[i];
}

static void give_init(void *context, const char *name, int64_t count, float *values) {
  const RecordedEntry *entry = recorded_find(context, "init/%s", name);
  CHECK_INT(count, entry->count);
  if (count == entry->count) memcpy(values, entry->values, (size_t)count * sizeof *values);
}

/* ---- comparisons */

static void note_gradient(Seen *seen, const char *name, double part) {
  if (!(part > seen->gradient)) return;
  seen->gradient = part;
  (void)snprintf(seen->worst, sizeof seen->worst, "%s", name);
}

static void compare_f32(Seen *seen, const char *name, const RecordedEntry *want, const float *got) {
  double squares = 0, worst = 0;
  for (int64_t i = 0; i < want->count; i++)
    squares += (double)want->values[i] * (double)want->values[i];
  double bound = F32_GRADIENT * sqrt(squares / (double)want->count) + F32_GRADIENT_LEAST;
  for (int64_t i = 0; i < want->count; i++) {
    double far = fabs((double)got[i] - (double)want->values[i]);
    if (!(far <= worst)) worst = far; /* a NaN stays */
  }
  if (!(worst <= bound)) printf("%s: %g away, %g allowed\n", name, worst, bound);
  CHECK(worst <= bound);
  note_gradient(seen, name, worst / bound);
}

static void compare_bf16(Seen *seen, const char *name, const RecordedEntry *want,
                         const float *got) {
  double squares = 0, far = 0;
  for (int64_t i = 0; i < want->count; i++) {
    double difference = (double)got[i] - (double)want->values[i];
    squares += (double)want->values[i] * (double)want->values[i];
    far += difference * difference;
  }
  double half = (double)recorded_find(seen->recorded, "stray/half/%s", name)->values[0];
  double autocast = (double)recorded_find(seen->recorded, "stray/autocast/%s", name)->values[0];
  double bound = STRAY * fmax(half, autocast), stray = sqrt(far / squares);
  if (!(stray <= bound))
    printf("%s strays %g; PyTorch's half %g, autocast %g\n", name, stray, half, autocast);
  CHECK(stray <= bound);
  note_gradient(seen, name, stray / bound);
}

static void compare_gradient(void *context, const char *name, int64_t count, float *values) {
  Seen *seen = context;
  const RecordedEntry *want = recorded_find(seen->recorded, "grad/%s", name);
  CHECK_INT(count, want->count);
  if (count != want->count) return;
  if (seen->experiment->is_bf16)
    compare_bf16(seen, name, want, values);
  else
    compare_f32(seen, name, want, values);
}

/* How far PyTorch's bf16 runs come from its f32 run in any step. */
static double farthest(const Recorded *recorded, const char *what) {
  const RecordedEntry *narrow[] = {recorded_find(recorded, "%s/half", what),
                                   recorded_find(recorded, "%s/autocast", what)};
  const RecordedEntry *wide = recorded_find(recorded, "%s/adamw", what);
  double far = 0;
  for (int64_t i = 0; i < 2 * wide->count; i++) {
    int64_t step = i / 2;
    far = fmax(far, fabs((double)narrow[i % 2]->values[step] / (double)wide->values[step] - 1));
  }
  return far;
}

static void compare_number(double *part, double got, const char *what, const Seen *seen,
                           int64_t step) {
  const RecordedEntry *entry = recorded_find(seen->recorded, "%s/%s", what, seen->experiment->run);
  double bound = seen->experiment->is_bf16 ? STRAY * farthest(seen->recorded, what) : F32_LOSS;
  double want = (double)entry->values[step - 1], far = fabs(got / want - 1);
  if (!(far <= bound)) printf("step %lld: %s %.9g, want %.9g\n", (long long)step, what, got, want);
  CHECK(far <= bound);
  if (!(far / bound <= *part)) *part = far / bound;
}

/* ---- runs */

static void train(Trainer *trainer, Seen *seen) {
  void *recorded = (void *)seen->recorded;
  int64_t steps = recorded_find(seen->recorded, "loss/adamw")->count;
  trainer_each(trainer, BUFFER_PARAM, give_init, recorded);
  trainer_each(trainer, BUFFER_MASTER, give_init, recorded);
  for (int64_t step = 1; step <= steps; step++) {
    bool done = trainer_step(trainer);
    CHECK(done);
    if (!done) return;
    compare_number(&seen->loss, trainer_loss(trainer), "loss", seen, step);
    compare_number(&seen->norm, trainer_norm(trainer), "norm", seen, step);
    if (step == 1) trainer_each(trainer, BUFFER_GRAD, compare_gradient, seen);
  }
}

static void run(const Experiment *e, const Recorded *recorded) {
  char plan_path[64];
  (void)snprintf(plan_path, sizeof plan_path, "/tmp/lockstep_models_%d.plan", (int)getpid());
  Plan plan;
  Trainer trainer;
  bool planned = job_plan(e->model, &e->changes, plan_path, &plan);
  CHECK(planned);
  if (!planned) return;
  Seen seen = {.recorded = recorded, .experiment = e};
  bool opened = trainer_open(&trainer, &plan, e->variant, give_input, (void *)recorded);
  CHECK(opened);
  if (opened) train(&trainer, &seen);
  trainer_close(&trainer);
  plan_close(&plan);
  (void)unlink(plan_path);
  printf("%-5s %-4s %-5s %-9s  parts of the bounds: loss %.3f  norm %.3f  gradient %.3f (%s)\n",
         e->model, e->is_bf16 ? "bf16" : "f32", e->run,
         e->variant == KERNEL_FAST ? "fast" : "reference", seen.loss, seen.norm, seen.gradient,
         seen.worst);
}

/* ---- narrow compute beside fp32 parameters */

/* The farthest of all steps: of a run of PyTorch, and of ours. */
typedef struct Strayed {
  double loss, norm;
} Strayed;

static void stray_by(Strayed *strayed, const Recorded *exact, int64_t step, double loss,
                     double norm) {
  const double losses = (double)recorded_find(exact, "loss/fp64")->values[step];
  const double norms = (double)recorded_find(exact, "norm/fp64")->values[step];
  strayed->loss = fmax(strayed->loss, fabs(loss / losses - 1));
  strayed->norm = fmax(strayed->norm, fabs(norm / norms - 1));
}

/* PyTorch computes it in two ways, of which the farther one counts: by autocast, and cast whole. */
static Strayed stray_of_torch(const Recorded *exact, const char *word) {
  Strayed strayed = {0};
  for (int way = 0; way < 2; way++) {
    const char *suffix = way == 0 ? "" : "-cast";
    const RecordedEntry *loss = recorded_find(exact, "loss/%s%s", word, suffix);
    const RecordedEntry *norm = recorded_find(exact, "norm/%s%s", word, suffix);
    for (int64_t step = 0; step < loss->count; step++)
      stray_by(&strayed, exact, step, (double)loss->values[step], (double)norm->values[step]);
  }
  return strayed;
}

static Strayed stray_of_trainer(Trainer *trainer, const Recorded *recorded, const Recorded *exact) {
  Strayed strayed = {0};
  trainer_each(trainer, BUFFER_PARAM, give_init, (void *)recorded);
  for (int64_t step = 0; step < recorded_find(exact, "loss/fp64")->count; step++) {
    bool done = trainer_step(trainer);
    CHECK(done);
    if (!done) break;
    stray_by(&strayed, exact, step, trainer_loss(trainer), trainer_norm(trainer));
  }
  return strayed;
}

static void run_narrow(const char *model, const char *word, const JobChanges *changes,
                       const Recorded *recorded, const Recorded *exact) {
  char plan_path[64];
  (void)snprintf(plan_path, sizeof plan_path, "/tmp/lockstep_models_%d.plan", (int)getpid());
  Plan plan;
  Trainer trainer;
  bool planned = job_plan(model, changes, plan_path, &plan);
  CHECK(planned);
  if (!planned) return;
  bool opened = trainer_open(&trainer, &plan, KERNEL_FAST, give_input, (void *)recorded);
  CHECK(opened);
  const Strayed torch = stray_of_torch(exact, word);
  const Strayed ours = opened ? stray_of_trainer(&trainer, recorded, exact) : torch;
  trainer_close(&trainer);
  plan_close(&plan);
  (void)unlink(plan_path);
  printf("%-5s %-4s from fp64: loss %.2g, PyTorch %.2g; norm %.2g, PyTorch %.2g\n", model, word,
         ours.loss, torch.loss, ours.norm, torch.norm);
  CHECK(ours.loss <= PRECISION_STRAY * torch.loss && ours.norm <= PRECISION_STRAY * torch.norm);
}

static void check_narrow(const char *model, const Recorded *recorded) {
  static const JobChanges fp16 = {
      {"precision={\"fp16\", param=\"fp32\", loss_scale={\"torch\", init=1024}}"}};
  static const JobChanges cast = {{"precision={\"bf16\", param=\"fp32\"}"}};
  char name[32];
  Recorded exact;
  (void)snprintf(name, sizeof name, "%s_precision", model);
  bool opened = recorded_open(&exact, name);
  CHECK(opened);
  if (!opened) return;
  run_narrow(model, "fp16", &fp16, recorded, &exact);
  run_narrow(model, "bf16", &cast, recorded, &exact);
  recorded_close(&exact);
}

static const JobChanges adamw = {{NULL}};
static const JobChanges sgd = {
    {"optimizer=sgd", "optimizer.lr=0.1", "optimizer.clip=0.5", "optimizer.momentum=0.9"}};
static const JobChanges bf16 = {{"precision=bf16"}};

/* A sum of losses, each of which has a divisor of its own targets. */
static void check_sum(void) {
  Recorded recorded;
  bool opened = recorded_open(&recorded, "losses");
  CHECK(opened);
  if (!opened) return;
  for (int variant = 0; variant < 2; variant++) {
    KernelVariant kernels = variant == 0 ? KERNEL_FAST : KERNEL_REFERENCE;
    run(&(Experiment){"losses", "adamw", kernels, false, adamw}, &recorded);
    run(&(Experiment){"losses", "sgd", kernels, false, sgd}, &recorded);
  }
  recorded_close(&recorded);
}

int main(void) {
  static const char *const models[] = {"gpt2", "llama", "mlp"};
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    Recorded recorded;
    if (!recorded_open(&recorded, models[m])) return 1;
    for (int variant = 0; variant < 2; variant++) {
      KernelVariant kernels = variant == 0 ? KERNEL_FAST : KERNEL_REFERENCE;
      TEST("f32 agrees with PyTorch") {
        run(&(Experiment){models[m], "adamw", kernels, false, adamw}, &recorded);
        run(&(Experiment){models[m], "sgd", kernels, false, sgd}, &recorded);
      }
      TEST("bf16 strays from f32 no further than PyTorch's") {
        run(&(Experiment){models[m], "adamw", kernels, true, bf16}, &recorded);
      }
    }
    TEST("fp16 and bf16 beside fp32 parameters stray from fp64 no further than three PyTorches")
    check_narrow(models[m], &recorded);
    recorded_close(&recorded);
  }
  TEST("a sum of four losses, whose targets partly count, agrees with PyTorch") check_sum();
  CHECK_DONE();
}
