/* tied_test.c -- a parameter that the first and the last pipeline stage read has two copies, and
 * they hold the same bits after every step, whatever dtype its gradients travel in. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/parity/job_compile.h"
#include "tests/parity/tensors.h"
#include "tests/unit/check.h"

enum { STEPS = 3, PATH_BYTES = 128 };

static char folder[] = "/tmp/lockstep_tied.XXXXXX";

typedef struct Reading {
  const Draft *draft;
  bool agrees;
} Reading;

/* tensors_read compares ranks that hold the same number. */
static void look(void *context, const Fleet *fleet, int64_t step) {
  Reading *reading = context;
  Tensors parameters = {0};
  (void)step;
  reading->agrees = tensors_read(&parameters, reading->draft, fleet, BASE_PARAM) && reading->agrees;
  tensors_free(&parameters);
}

static void write_job(const char *path, const char *precision, const char *parallel, int devices) {
  FILE *file = fopen(path, "w");
  if (file == NULL) abort();
  fprintf(file,
          "return job { model = { 'gpt2', layers = 4, width = 32, heads = 4, vocab = 64, "
          "positions = 16 }, data = 'synthetic',\n"
          "  train = { batch = '12 sequences', microbatch = 1, context = 16, steps = %d },\n"
          "  optimizer = { 'adamw', lr = 1e-2 }, precision = { %s }, parallel = { %s },\n"
          "  cluster = { 'here', devices = %d } }\n",
          STEPS, precision, parallel, devices);
  fclose(file);
}

static void check_copies(const char *precision, const char *parallel, int devices) {
  static FleetRank ranks[FLEET_RANKS_MAX];
  char path[PATH_BYTES], plan_path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/job.lua", folder);
  (void)snprintf(plan_path, sizeof plan_path, "%s/job.plan", folder);
  write_job(path, precision, parallel, devices);
  JobCompile job;
  const char *error = "";
  bool compiled = job_compile(&job, path, plan_path, &error);
  Reading reading = {.draft = job.compiled.draft, .agrees = compiled};
  bool ran = compiled && fleet_run(&job.plan, STEPS, (FleetQueues){0}, look, &reading, ranks);
  if (!ran || !reading.agrees) printf("precision { %s }, parallel { %s }\n", precision, parallel);
  CHECK(ran && reading.agrees);
  job_compile_close(&job);
  (void)unlink(path);
  (void)unlink(plan_path);
}

int main(void) {
  static const char *const precisions[] = {"'fp32', reduce = 'bf16'", "'bf16', reduce = 'bf16'"};
  static const struct {
    const char *parallel;
    int devices;
  } ways[] = {
      {"pp = 2, pipeline = '1f1b'", 2},
      {"pp = 2, pipeline = 'zb-h1'", 2},
      {"pp = 2, dp = 2, zero = 0", 4},
      {"pp = 2, dp = 2, zero = 1", 4},
      {"pp = 2, dp = 2, zero = 2", 4},
      {"pp = 2, dp = 2, zero = 3, zero_keep = '0B'", 4},
      {"pp = 2, dp = 4, zero = 2, zero_group = 2", 8},
      {"pp = 2, tp = 2, cp = 2, pipeline = 'gpipe'", 8},
      {"pp = 2, pipeline = { 'interleaved', chunks = 2 }", 2},
      {"pp = 2, pipeline = 'zb-v'", 2},
  };
  if (mkdtemp(folder) == NULL) return 1;
  TEST("the copies of a tied weight stay equal to the bit") {
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++)
      for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        check_copies(precisions[p], ways[w].parallel, ways[w].devices);
  }
  (void)rmdir(folder);
  CHECK_DONE();
}
