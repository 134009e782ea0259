/* compile_speed_test.c -- what a compile with its proof costs, in units that do not depend on the
 * machine: processor time next to that of a sort of known size, and how it grows with the layers.
 * Other work on the machine lengthens both sides alike. */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "compiler/job/data.h"
#include "compiler/search/fit.h"
#include "tests/unit/check.h"

enum { CHANGES_MAX = 4, SORTED = 50000 };

/* SLACK, times of `compile` below: what was measured, with room for another machine. Sanitizers
 * slow both down, but not alike. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 2, SLACK = 12 };
#else
enum { ROUNDS = 4, SLACK = 3 };
#endif

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* The unit: a few milliseconds of calls, comparisons and memory, as a compile is. */
static double sort_ms(void) {
  static uint64_t number[SORTED];
  uint64_t state = 1;
  for (int i = 0; i < SORTED; i++)
    number[i] = state = state * 6364136223846793005u + 1442695040888963407u;
  double start = cpu_ms();
  qsort(number, SORTED, sizeof *number, compare);
  return cpu_ms() - start;
}

/* From the job file to a proven plan in memory, without the data. */
static double compile_ms(const char *path, const char *const *changes, bool fits) {
  int32_t count = 0;
  while (count < CHANGES_MAX && changes[count])
    count++;
  double start = cpu_ms();
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  Compiled compiled = {0};
  Job *job = spec_load(c, path, changes, count);
  CHECK(job != NULL);
  if (job) {
    spec_data_assume(job);
    bool done =
        fit_plan(c, job, &(Machine){.memory_bytes = (int64_t)1 << 36, .cores = 2}, &compiled);
    CHECK(done == fits);
  }
  double took = cpu_ms() - start;
  if (compile_failed(c) == fits) diags_print(&c->diags, stdout, false);
  compile_free(c);
  return took;
}

static double best_ms(const char *path, const char *const *changes, bool fits) {
  double best = INFINITY;
  for (int i = 0; i < ROUNDS; i++)
    best = fmin(best, compile_ms(path, changes, fits));
  return best;
}

/* Caches and clocks that other work takes lengthen some compiles, and one that is slow by itself
 * all: what is too slow is timed again. */
enum { TRIES = 8 };

/* `sorts`: how many sorts it takes on the machine where the README's times were measured. */
static void check_cost(const char *example, bool fits, double unit_ms, double sorts) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/examples/%s.lua", SOURCE_FOLDER, example);
  double took = INFINITY;
  for (int i = 0; i < TRIES && took > SLACK * sorts * unit_ms; i++)
    took = fmin(took, best_ms(path, (const char *const[CHANGES_MAX]){NULL}, fits));
  printf("%-22s %7.1f ms = %5.2f sorts of %.1f ms; at most %.2f\n", example, took, took / unit_ms,
         unit_ms, SLACK * sorts);
  CHECK(took <= SLACK * sorts * unit_ms);
}

/* Four times the layers take about four times as long, with any setting; sixteen if pairs of layers
 * are looked at. */
static void check_growth(const char *folder, const char *job, const char *second,
                         const char *third) {
  enum { LAYERS = 400 };
  char path[512];
  double took[2] = {INFINITY, INFINITY};
  (void)snprintf(path, sizeof path, "%s/%s.lua", folder, job);
  for (int i = 0; i < 2 || (i < 2 * TRIES && !(took[1] <= 8 * took[0])); i++) {
    const int which = i % 2;
    char layers[64];
    (void)snprintf(layers, sizeof layers, "model.layers=%d", which == 0 ? LAYERS : 4 * LAYERS);
    const char *changes[CHANGES_MAX] = {layers, second, third};
    took[which] = fmin(took[which], best_ms(path, changes, true));
  }
  printf("%s %-28s %-26s %d layers %.1f ms, %d %.1f ms: %.1f times\n", job, second ? second : "",
         third ? third : "", LAYERS, took[0], 4 * LAYERS, took[1], took[1] / took[0]);
  CHECK(took[1] <= 8 * took[0]);
}

static void write_file(const char *folder, const char *name, const char *text) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  if (!file) return;
  (void)fputs(text, file);
  CHECK(fclose(file) == 0);
}

static const char *const files[][2] = {
    {"deep.lua",
     "return job { model = { \"llama\", layers = 4, width = 32, heads = 4, kv_heads = 2,\n"
     "  vocab = 32, ffn = 64, positions = 16 }, data = \"synthetic\",\n"
     "  train = { batch = \"8 sequences\", steps = 1 },\n"
     "  optimizer = { \"adamw\", lr = 1e-3 }, cluster = { \"here\", devices = 4 } }\n"},
    /* Layers that are no stack: one list of nodes as long as the model, each with its own name. */
    {"loop.lua",
     "return job { model = { \"./loop_model.lua\" }, precision = \"fp32\",\n"
     "  data = { \"table\", train = \"none.csv\", columns = { x = { \"a\" }, y = { \"b\" } } },\n"
     "  train = { batch = \"8 samples\", steps = 1 },\n"
     "  optimizer = { \"adamw\", lr = 1e-3 }, cluster = { \"here\", devices = 4 } }\n"},
    {"loop_model.lua",
     "return model { sizes = { inputs = 1, outputs = 1, width = 8, layers = 4 },\n"
     "  forward = function(m)\n"
     "    local h = linear(\"first\", input(\"x\", { \"batch\", \"inputs\" }), \"width\")\n"
     "    for i = 1, m.layers do h = h + relu(linear(\"l\" .. i, h, \"width\")) end\n"
     "    return mse(linear(\"last\", h, \"outputs\"), input(\"y\", { \"batch\", \"outputs\" }))\n"
     "  end }\n"},
};

int main(void) {
  /* Memory stays with the process: otherwise only large compiles would pay for getting pages again.
   */
  CHECK(mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TRIM_THRESHOLD, INT32_MAX) == 1);
  double unit_ms = INFINITY;
  for (int i = 0; i < 2 * ROUNDS; i++)
    unit_ms = fmin(unit_ms, sort_ms());
  check_cost("gpt2_124m", true, unit_ms, 0.7);
  check_cost("llama3_405b", false, unit_ms, 24); /* every rung of advice, and small changes */
  check_cost("llama3_405b_cluster", true, unit_ms, 66);
  char folder[] = "/tmp/compile_speed_XXXXXX", path[64];
  CHECK(mkdtemp(folder) != NULL);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    write_file(folder, files[i][0], files[i][1]);
  check_growth(folder, "deep", NULL, NULL);
  check_growth(folder, "deep", "memory.recompute=block", NULL);
  check_growth(folder, "deep", "parallel.zero=1", NULL);
  check_growth(folder, "deep", "parallel.zero=3", "memory.recompute=sqrt");
  check_growth(folder, "deep", "parallel.cp=2", "parallel.tp=2");
  check_growth(folder, "deep", "parallel.pp=4", "parallel.pipeline=gpipe");
  check_growth(folder, "deep", "parallel.pp=4", "parallel.pipeline=1f1b");
  check_growth(folder, "deep", "parallel.pp=2", "parallel.pipeline=zb-h1");
  check_growth(folder, "loop", NULL, NULL);
  check_growth(folder, "loop", "parallel.zero=3", NULL);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, files[i][0]);
    (void)remove(path);
  }
  (void)remove(folder);
  CHECK_DONE();
}
