/* users_gpu_test.c -- models by seed (user_models.h) for GPUs: each is compiled for them, divided
 * in some way, and trains as on GPUs by this processor (cuda_host.h) to the losses that the same
 * plan has with this processor's kernels.
 *
 *   parity_users_gpu_test                a few models
 *   parity_users_gpu_test N [SEED]       N of them, from this seed on; one that fails is left in
 * the folder of its files */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/cuda/choices.h"
#include "runtime/plan/plan_io.h"
#include "runtime/replay/hostile.h"
#include "tests/parity/cuda_host.h"
#include "tests/parity/job_run.h"
#include "tests/parity/user_models.h"
#include "tests/parity/user_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/nccl_stand_in.h"

#define WORK "users_gpu_test.files"
enum { STEPS = 2, FEW = HOSTILE_RUNS_ALONE ? 3 : 8, DELAY_MOST_NS = 2000 };

static FILE *open_to_write(const char *path) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) exit(2);
  return file;
}

/* Two steps of two micro-batches: threads of a GPU are fibers here, and slow. */
static void write_job(uint64_t seed, bool has_seq) {
  FILE *out = open_to_write("job.lua");
  fputs("return job { name = 'run', model = { './model.lua' }, data = 'synthetic',\n", out);
  user_way_write(out, seed, "dgx-h100", has_seq);
  /* SGD: what is a rounding error in one gradient stays one in the loss. */
  fprintf(out,
          "  optimizer = { 'sgd', lr = 1e-2 }, precision = 'fp32',\n"
          "  train = { batch = '8 %s', microbatch = 1, steps = %d%s },\n"
          "  checkpoint = { resume = 'never' } }\n",
          has_seq ? "sequences" : "samples", STEPS, has_seq ? ", context = 8" : "");
  fclose(out);
}

static double train(const Plan *plan, const CudaPlugin *cuda) {
  static RunRecord record;
  record = (RunRecord){0};
  job_folder_remove("runs");
  RunOptions options = run_defaults(plan);
  options.quiet = true;
  options.plan_path = "job.plan";
  options.cuda = cuda;
  options.on_cpu = cuda == NULL;
  options.ranks_every = 0;
  choices_clear();
  CHECK(job_run_as(plan, &options, &record));
  CHECK_INT(record.last_step, STEPS);
  CHECK_INT(nccl_stand_in_open(), 0);
  return record.loss[STEPS];
}

/* False: the job was refused as the user's mistake. */
static bool train_both(uint64_t seed) {
  static char name[32];
  Plan plan = {0};
  FILE *out = open_to_write("model.lua");
  bool has_seq = user_model_write(out, seed);
  fclose(out);
  write_job(seed, has_seq);
  (void)snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
  check_test_name = name;
  UserPlanEnd end = user_plan("job.lua", "job.plan", "  refused", stdout, &plan);
  CHECK(end != USER_PLAN_DEFECT);
  if (end != USER_PLAN_DONE) return false;
  double processor = train(&plan, NULL), gpu = train(&plan, cuda_host_plugin(DELAY_MOST_NS));
  CHECK_NEAR(gpu, processor, 1e-4 * (1 + fabs(processor)));
  plan_close(&plan);
  return true;
}

int main(int argc, char **argv) {
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : FEW, trained = 0;
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  job_folder_remove(WORK);
  (void)mkdir(WORK, 0777);
  if (chdir(WORK) != 0) return 2;
  for (uint64_t seed = first; seed < first + count && check_failures == 0; seed++)
    trained += train_both(seed);
  printf("%llu models, %llu trained\n", (unsigned long long)count, (unsigned long long)trained);
  check_test_name = "models are trained";
  CHECK(check_failures > 0 || trained * 3 >= count);
  if (check_failures == 0 && chdir("..") == 0) job_folder_remove(WORK);
  CHECK_DONE();
}
