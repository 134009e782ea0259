/* fused.c -- times the fused form of two kernels and the two run one after the other.
 *
 * Usage: bench_fused [threads]. For each row of fusions.def that plans for processors use, in
 * shapes of a char GPT and of GPT-2 124M: CPU time of the two ways in turn, the median of each, and
 * the median of their ratios. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/unit/kernel_pair.h"

enum { ROUNDS = 41, SETS_MAX = 16 };
static const double ROUND_SECONDS = 2e-3, CACHE_BYTES = 64e6;

/* Processor time of all threads: other work of the machine disturbs it less. */
static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *values) {
  qsort(values, ROUNDS, sizeof *values, by_value);
  return values[ROUNDS / 2];
}

static void run(Pair *pair, bool as_one, Threads *threads, int64_t threads_count) {
  if (as_one &&
      pair_run_fused(pair, kernels_of(KERNEL_FAST), KERNEL_TARGET_CPU, threads, threads_count))
    return;
  call_run(&pair->call[0], KERNEL_FAST, threads);
  call_run(&pair->call[1], KERNEL_FAST, threads);
}

/* Several sets of operands in turn, so that they come from memory as they do in a step. */
static double time_run(Pair *sets, int32_t count, int32_t times, bool as_one, Threads *threads,
                       int64_t threads_count) {
  double start = cpu_seconds();
  for (int32_t i = 0; i < times; i++)
    run(&sets[i % count], as_one, threads, threads_count);
  return (cpu_seconds() - start) / times;
}

static double bytes_of(const Pair *pair) {
  double bytes = 0;
  for (int32_t k = 0; k < 2; k++)
    for (int32_t i = 0; i < pair->call[k].operand_count; i++)
      if (!pair->call[k].shared[i]) bytes += (double)pair->call[k].bytes[i];
  return bytes;
}

static void measure(const KernelFusion *fusion, const PairShape *shape, const char *model,
                    Threads *threads) {
  Pair sets[SETS_MAX];
  double apart[ROUNDS], as_one[ROUNDS], ratio[ROUNDS];
  pair_make(&sets[0], fusion, KERNEL_TARGET_CPU, shape);
  int32_t count = 1;
  for (; count < SETS_MAX && count * bytes_of(&sets[0]) < CACHE_BYTES; count++)
    pair_make(&sets[count], fusion, KERNEL_TARGET_CPU, shape);
  double once = time_run(sets, count, count, true, threads, shape->threads);
  int32_t times = (int32_t)(ROUND_SECONDS / once) + 1;
  for (int32_t i = 0; i < ROUNDS; i++) {
    apart[i] = time_run(sets, count, times, false, threads, shape->threads);
    as_one[i] = time_run(sets, count, times, true, threads, shape->threads);
    ratio[i] = as_one[i] / apart[i];
  }
  printf("%-19s %-18s %-8s %-5s %9.1f us %9.1f us   %.3f\n", contract_of(fusion->first)->row->name,
         contract_of(fusion->second)->row->name, model, dtype_name(shape->dtype),
         median(apart) * 1e6, median(as_one) * 1e6, median(ratio));
  (void)fflush(stdout);
  for (int32_t i = 0; i < count; i++)
    pair_free(&sets[i]);
}

static void measure_all(const KernelFusion *fusion, const char *model, int64_t rows, int64_t width,
                        Threads *threads, int64_t threads_count) {
  for (DType t = DTYPE_F32; t <= DTYPE_BF16; t++) {
    const PairShape shape = {.rows = rows,
                             .width = width,
                             .inner = width,
                             .dtype = t,
                             .in_place = true,
                             .threads = threads_count};
    measure(fusion, &shape, model, threads);
  }
}

int main(int argc, char **argv) {
  int32_t threads_count = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : 2, count;
  Threads *threads = threads_new(threads_count, NULL);
  if (threads == NULL) return 2;
  printf("%-19s %-18s %-8s %-5s %12s %12s   ratio\n", "first", "second", "model", "dtype", "apart",
         "fused");
  for (const KernelFusion *fusion = contract_fusions(&count); count > 0; fusion++, count--) {
    if (!contract_may_fuse(fusion->first, fusion->second, KERNEL_TARGET_CPU)) continue;
    measure_all(fusion, "char", 1024, 384, threads, threads_count);
    measure_all(fusion, "GPT-2", 1024, 768, threads, threads_count);
  }
  threads_free(threads);
  return 0;
}
