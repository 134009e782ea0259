/* kernels_ceiling.c -- loops that do nothing but multiply and add, or read and write. */
#include "bench/kernels_ceiling.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { REPEATS = 5, LOOPS = 2000000, SUMS = 24, TRIAD_ELEMENTS = 1 << 24 };

typedef struct Job {
  double flops; /* of one task */
  float *a, *b, *c;
} Job;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define REGISTER_LOOP(name, attribute, vector, zero, step)                                         \
  attribute static void name(void *context, int64_t task, int32_t worker) {                        \
    vector sum[SUMS], x = zero, y = zero;                                                          \
    (void)context;                                                                                 \
    (void)task;                                                                                    \
    (void)worker;                                                                                  \
    _Pragma("GCC unroll 24") for (int i = 0; i < SUMS; i++) sum[i] = zero;                         \
    for (int loop = 0; loop < LOOPS; loop++) {                                                     \
      _Pragma("GCC unroll 24") for (int i = 0; i < SUMS; i++) {                                    \
        sum[i] = step(x, y, sum[i]);                                                               \
        __asm__ volatile("" : "+v"(sum[i]));                                                       \
      }                                                                                            \
    }                                                                                              \
  }

#define DOT_PAIRS(x, y, sum) _mm512_dpbf16_ps(sum, (__m512bh)(x), (__m512bh)(y))

REGISTER_LOOP(f32_wide, __attribute__((target("avx512f"))), __m512, _mm512_setzero_ps(),
              _mm512_fmadd_ps)
REGISTER_LOOP(bf16_wide, __attribute__((target("avx512f,avx512bf16"))), __m512, _mm512_setzero_ps(),
              DOT_PAIRS)

/* Twelve sums only: AVX2 has sixteen registers. */
__attribute__((target("avx2,fma"))) static void f32_narrow(void *context, int64_t task,
                                                           int32_t worker) {
  __m256 sum[SUMS / 2], x = _mm256_setzero_ps();
  (void)context;
  (void)task;
  (void)worker;
  for (int i = 0; i < SUMS / 2; i++)
    sum[i] = x;
  for (int loop = 0; loop < LOOPS; loop++) {
    _Pragma("GCC unroll 12") for (int i = 0; i < SUMS / 2; i++) {
      sum[i] = _mm256_fmadd_ps(x, x, sum[i]);
      __asm__ volatile("" : "+x"(sum[i]));
    }
  }
}

static void triad(void *context, int64_t task, int32_t worker) {
  const Job *j = (const Job *)context;
  int64_t part = 1 << 16, first = task * part;
  (void)worker;
  for (int64_t i = first; i < first + part; i++)
    j->a[i] = j->b[i] + 3.0f * j->c[i];
}

static double best_rate(Threads *threads, int64_t tasks, ThreadsTask *run, Job *job, double work) {
  double best = 0;
  for (int i = 0; i < REPEATS; i++) {
    double start = seconds();
    threads_run(threads, tasks, run, job);
    double rate = (double)tasks * work / (seconds() - start);
    if (rate > best) best = rate;
  }
  return best;
}

Ceiling ceiling_measure(Threads *threads) {
  int64_t count = threads_count(threads);
  Ceiling ceiling = {0};
  Job job = {0};
  double narrow = 2.0 * 8 * SUMS / 2 * LOOPS, wide = 2.0 * 16 * SUMS * LOOPS;
  if (__builtin_cpu_supports("avx512f"))
    ceiling.f32_flops_per_s = best_rate(threads, count, f32_wide, &job, wide);
  else
    ceiling.f32_flops_per_s = best_rate(threads, count, f32_narrow, &job, narrow);
  ceiling.bf16_flops_per_s = __builtin_cpu_supports("avx512bf16")
                                 ? best_rate(threads, count, bf16_wide, &job, 2 * wide)
                                 : ceiling.f32_flops_per_s;
  size_t bytes = (size_t)TRIAD_ELEMENTS * sizeof(float);
  job.a = aligned_alloc(64, bytes);
  job.b = aligned_alloc(64, bytes);
  job.c = aligned_alloc(64, bytes);
  if (!job.a || !job.b || !job.c) exit(2);
  for (int64_t i = 0; i < TRIAD_ELEMENTS; i++)
    job.a[i] = job.b[i] = job.c[i] = 1;
  ceiling.bytes_per_s = best_rate(threads, TRIAD_ELEMENTS >> 16, triad, &job, 12.0 * (1 << 16));
  free(job.a);
  free(job.b);
  free(job.c);
  return ceiling;
}
