/* peak.c -- times y = x w for growing squares. */
#include "runtime/metrics/peak.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/math/floats.h"

enum { SIZE_FIRST = 64, SIZE_LAST = 1024, RUNS = 8, RUNS_LEAST = 4, ALIGN_BYTES = 64 };

/* Limits of the fastest runs, of all sizes and of one product; the last one is of all runs. */
static const double time_limit_s = 0.25, size_limit_s = 0.02, patience_s = 1.0;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Small, varying numbers, so that they are no easier for a kernel than real ones. */
static void fill(void *out, DType dtype, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    float value = (float)(i * 37 % 101 - 50) * 0.01f;
    float_put(out, i, dtype, value);
  }
}

typedef struct Squares {
  const Kernel *linear;
  void *operand[4];
  uint32_t dtypes[4];
  Threads *threads;
} Squares;

static double time_once(void *context, int32_t size) {
  const Squares *s = (const Squares *)context;
  const int64_t bytes = (int64_t)size * size * dtype_bytes((DType)s->dtypes[0]);
  const int64_t operand_bytes[4] = {bytes, bytes, bytes, WORK_PRODUCT_MOST};
  const int64_t dim[4] = {size, size, size, 0};
  const KernelArgs args = {.operand = s->operand,
                           .dtype = s->dtypes,
                           .bytes = operand_bytes,
                           .dim = dim,
                           .operand_count = 4,
                           .threads = s->threads};
  const char *why = NULL;
  const double start_s = now_s();
  if (s->linear->run(&args, &why) != KERNEL_DONE) return INFINITY;
  return now_s() - start_s;
}

Peak peak_of(PeakRun *run, void *context) {
  Peak peak = {0};
  double undisturbed_s = 0, all_s = 0;
  for (int32_t size = SIZE_FIRST; size <= SIZE_LAST; size *= 2) {
    const double flops = 2.0 * size * size * size;
    double best_s = INFINITY;
    for (int n = 0; n < RUNS; n++) {
      const bool is_over = undisturbed_s + n * best_s >= time_limit_s || all_s >= patience_s;
      if (n >= RUNS_LEAST && is_over) break;
      const double run_s = run(context, size);
      all_s += run_s;
      best_s = fmin(best_s, run_s);
    }
    if (flops / best_s > peak.flops_per_s) peak = (Peak){flops / best_s, size};
    undisturbed_s += RUNS_LEAST * best_s;
    /* the next size takes eight times as long */
    if (best_s > size_limit_s || undisturbed_s >= time_limit_s || all_s >= patience_s) break;
  }
  return peak;
}

Peak peak_measure(KernelVariant variant, DType dtype, Threads *threads) {
  Squares s = {.linear = &kernels_of(variant)[KERNEL_linear],
               .dtypes = {dtype, dtype, dtype, DTYPE_F32},
               .threads = threads};
  const size_t matrix_bytes = (size_t)SIZE_LAST * SIZE_LAST * sizeof(float);
  uint8_t *memory = aligned_alloc(ALIGN_BYTES, 3 * matrix_bytes + WORK_PRODUCT_MOST);
  if (!memory) return (Peak){0};
  for (int i = 0; i < 4; i++)
    s.operand[i] = memory + (size_t)i * matrix_bytes;
  fill(s.operand[0], dtype, (int64_t)SIZE_LAST * SIZE_LAST);
  fill(s.operand[1], dtype, (int64_t)SIZE_LAST * SIZE_LAST);
  const Peak peak = peak_of(time_once, &s);
  free(memory);
  return peak;
}
