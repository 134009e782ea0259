/* tune.c -- how many settings a second tune looks at, and what a whole search takes.
 *   bench_tune [THREADS [ROW]]     as many as there are processors; one search, from 0
 *
 * First, one arrangement of parts that are known: how long its time and its bytes take to compute,
 * and how far the time is from that of an estimate by the compiler's passes.
 * Then every row is one search of a job with a model of the library. Bounds: settings a second of
 * tracing, cutting and pricing all parts, and of all their arrangements; forecasts and estimates:
 * how many, and milliseconds of processor time for each estimate, forecasts included. A search is
 * measured once: it has no caches to fill. */
#include "compiler/search/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "compiler/draft/stages/stages.h"
#include "compiler/job/data.h"
#include "compiler/search/forecast.h"
#include "compiler/search/workers.h"

typedef struct Row {
  const char *name, *model, *cluster, *train;
} Row;

static const Row rows[] = {
    {"8B on 8 H100", "llama3-8b", "\"dgx-h100\", nodes = 1",
     "batch = \"128 sequences\", context = 8192"},
    {"70B on 64 H100", "llama3-70b", "\"dgx-h100\", nodes = 8",
     "batch = \"128 sequences\", context = 8192"},
    {"70B on 512 H100", "llama3-70b", "\"dgx-h100\", nodes = 64",
     "batch = \"1024 sequences\", context = 8192"},
    {"405B on 4,096 H100", "llama3-405b", "\"dgx-h100\", nodes = 512",
     "batch = \"2048 sequences\", context = 8192"},
    /* Calculon's example: of 2,520 sequences it takes as many as its replicas divide. */
    {"530B on 5,128 A100, 1,923 sequences", "megatron-530b", "\"dgx-a100\", nodes = 641",
     "batch = \"1923 sequences\""},
};

static double now_s(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#define PATH "/tmp/lockstep_bench_tune_XXXXXX.lua"

/* NULL: it cannot be read. */
static Job *load(Compile *c, const Row *row, char *path) {
  FILE *file = fdopen(mkstemps(path, 4), "w");
  if (file == NULL) return NULL;
  fprintf(file,
          "return job { model = \"%s\", data = \"synthetic\", train = { %s, steps = 10 },\n"
          "  optimizer = { \"adamw\", lr = 1e-4 }, cluster = { %s } }\n",
          row->model, row->train, row->cluster);
  fclose(file);
  Job *job = spec_load(c, path, NULL, 0);
  return job != NULL && spec_data(c, job) ? job : NULL;
}

/* ---- one arrangement */

typedef struct Arranged {
  const char *name, *nodes;
  Setting setting;
} Arranged;

static const Arranged arranged[] = {
    {"405B on 16,384 H100, interleaved x8",
     "2048",
     {.tp = 8,
      .cp = 1,
      .pp = 16,
      .chunks = 8,
      .microbatch = 1,
      .zero = 1,
      .pipeline = PIPE_INTERLEAVED,
      .recompute = {CHOICE_RECOMPUTE_SELECTIVE, 1}}},
    {"405B on 4,096 H100, interleaved x2",
     "512",
     {.tp = 8,
      .cp = 1,
      .pp = 64,
      .chunks = 2,
      .microbatch = 1,
      .zero = 1,
      .pipeline = PIPE_INTERLEAVED,
      .recompute = {CHOICE_RECOMPUTE_SELECTIVE, 1}}},
    {"405B on 4,096 H100, 1f1b",
     "512",
     {.tp = 8,
      .cp = 1,
      .pp = 16,
      .chunks = 1,
      .microbatch = 1,
      .zero = 1,
      .pipeline = PIPE_1F1B,
      .recompute = {CHOICE_RECOMPUTE_SELECTIVE, 1}}},
};

/* The least processor time of a few tries, in ms. */
static void arrange(Bench *bench, const Draft *parts, const Arranged *at) {
  enum { TRIES = 5 };
  Flows flows = {0};
  Estimate estimated = {0};
  double forecast_s = 1e9, live_s = 1e9;
  int64_t ns = 0, live_bytes = 0;
  for (int32_t i = 0; i < TRIES; i++) {
    const double start_s = now_s(CLOCK_PROCESS_CPUTIME_ID);
    bench->job = bench->met;
    setting_apply(&at->setting, &bench->job);
    if (!compile_derive(bench->compile, &bench->job, &bench->known)) return;
    Draft *d = compile_rearranged(parts, &bench->known.derived), cut = *d;
    if (!stages_cut(&cut)) return;
    ns = forecast_ns(&flows, &cut, NULL);
    const double forecast_end_s = now_s(CLOCK_PROCESS_CPUTIME_ID);
    live_bytes = estimate_live_most(&flows, d, INT64_MAX);
    forecast_s = fmin(forecast_s, forecast_end_s - start_s);
    live_s = fmin(live_s, now_s(CLOCK_PROCESS_CPUTIME_ID) - forecast_end_s);
  }
  const double start_s = now_s(CLOCK_PROCESS_CPUTIME_ID);
  if (!estimate(bench->compile, &bench->job, &bench->known, at->setting.recompute, &estimated))
    return;
  printf("%-36s %9.1f %9.1f %9.0f %+8.2f%% %10lld\n", at->name, 1e3 * forecast_s, 1e3 * live_s,
         1e3 * (now_s(CLOCK_PROCESS_CPUTIME_ID) - start_s),
         100 * ((double)ns / (double)estimated.step_ns - 1),
         (long long)(live_bytes - estimated.live_bytes));
  flows_free(&flows);
}

static void measure_arranged(const Arranged *at) {
  char cluster[64], path[] = PATH;
  (void)snprintf(cluster, sizeof cluster, "\"dgx-h100\", nodes = %s", at->nodes);
  const Row row = {at->name, "llama3-405b", cluster, "batch = \"2048 sequences\", context = 8192"};
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  const PartsKey key = {.tp = at->setting.tp,
                        .cp = at->setting.cp,
                        .microbatch = at->setting.microbatch,
                        .recompute = at->setting.recompute};
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  Job *job = load(c, &row, path);
  const Subject subject = {job, &machine, c->specs_dir};
  CutRule why;
  Bench bench = {0};
  if (job != NULL && bench_open(&bench, &subject)) {
    const Draft *parts = parts_of(&bench, &key, &why);
    if (parts != NULL) arrange(&bench, parts, at);
  }
  if (job != NULL) bench_close(&bench);
  compile_free(c);
  (void)unlink(path);
}

/* ---- searches */

typedef struct Times {
  double start_s, bounded_s; /* of the processor */
} Times;

static void tell(void *state, const char *what, int64_t done, int64_t all) {
  Times *times = state;
  (void)all;
  if (what[0] == 'p') times->bounded_s = now_s(CLOCK_PROCESS_CPUTIME_ID);
  (void)done;
}

static void measure(const Row *row, int32_t threads) {
  char path[] = PATH;
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  Job *job = load(c, row, path);
  Tuned tuned;
  Times times = {.start_s = now_s(CLOCK_PROCESS_CPUTIME_ID)};
  const TuneProgress progress = {tell, &times};
  const double start_s = now_s(CLOCK_MONOTONIC);
  if (job != NULL && tune(c, &(Subject){job, &machine, c->specs_dir}, threads, TUNE_ESTIMATES_MOST,
                          &progress, &tuned)) {
    const double bounds_s = times.bounded_s - times.start_s;
    const double estimates_s = now_s(CLOCK_PROCESS_CPUTIME_ID) - times.bounded_s;
    printf("%-36s %9lld %6lld %9.0f %6lld %6lld %8.1f %7.2f %8.2f\n", row->name,
           (long long)tuned.seen, (long long)tuned.parts, (double)tuned.seen / bounds_s,
           (long long)tuned.forecasts, (long long)tuned.estimates,
           1e3 * estimates_s / (double)(tuned.estimates > 0 ? tuned.estimates : 1),
           now_s(CLOCK_PROCESS_CPUTIME_ID) - times.start_s, now_s(CLOCK_MONOTONIC) - start_s);
  } else {
    diags_print(&c->diags, stdout, false);
  }
  compile_free(c);
  (void)unlink(path);
}

int main(int count, char **words) {
  const int32_t threads = count > 1 ? (int32_t)strtol(words[1], NULL, 10) : workers_available();
  printf("%-36s %9s %9s %9s %9s %10s\n", "", "time ms", "bytes ms", "passes ms", "wrong by",
         "bytes by");
  for (size_t i = 0; i < sizeof arranged / sizeof *arranged && count < 3; i++)
    measure_arranged(&arranged[i]), fflush(stdout);
  printf("\n%-36s %9s %6s %9s %6s %6s %8s %7s %8s\n", "", "settings", "parts", "bounds/s", "fore.",
         "est.", "ms each", "cpu s", "wall s");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (count < 3 || (size_t)strtol(words[2], NULL, 10) == i)
      measure(&rows[i], threads), fflush(stdout);
  return 0;
}
