/* tune.c -- how many settings a second tune looks at, and what a whole search takes.
 *   bench_tune [THREADS]     as many as there are processors
 *
 * Every row is one search of a job with a model of the library. Bounds: settings a second of
 * tracing, cutting and pricing all parts, and of all their arrangements; forecasts and estimates:
 * how many, and milliseconds of processor time for each estimate, forecasts included. A search is
 * measured once: it has no caches to fill. */
#include "compiler/search/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "compiler/job/data.h"
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
    {"530B on 5,128 A100, 2,520 sequences", "megatron-530b", "\"dgx-a100\", nodes = 641",
     "batch = \"2520 sequences\""},
};

static double now_s(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

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
  char path[] = "/tmp/lockstep_bench_tune_XXXXXX.lua";
  FILE *file = fdopen(mkstemps(path, 4), "w");
  if (file == NULL) return;
  fprintf(file,
          "return job { model = \"%s\", data = \"synthetic\", train = { %s, steps = 10 },\n"
          "  optimizer = { \"adamw\", lr = 1e-4 }, cluster = { %s } }\n",
          row->model, row->train, row->cluster);
  fclose(file);
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  Job *job = spec_load(c, path, NULL, 0);
  Tuned tuned;
  Times times = {.start_s = now_s(CLOCK_PROCESS_CPUTIME_ID)};
  const TuneProgress progress = {tell, &times};
  const double start_s = now_s(CLOCK_MONOTONIC);
  if (job != NULL && spec_data(c, job) &&
      tune(c, &(Subject){job, &machine, c->specs_dir}, threads, TUNE_ESTIMATES_MOST, &progress,
           &tuned)) {
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
  printf("%-36s %9s %6s %9s %6s %6s %8s %7s %8s\n", "", "settings", "parts", "bounds/s", "fore.",
         "est.", "ms each", "cpu s", "wall s");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    measure(&rows[i], threads), fflush(stdout);
  return 0;
}
