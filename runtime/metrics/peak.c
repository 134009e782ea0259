/* peak.c -- times y = x w for growing squares. */
#include "runtime/metrics/peak.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/math/floats.h"

enum { SIZE_FIRST = 64, SIZE_LAST = 1024, ALIGN_BYTES = 64 };

static const double time_limit_s = 0.25, size_limit_s = 0.02;

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

static double time_once(const Kernel *linear, const KernelArgs *args) {
  const char *why = NULL;
  double start_s = now_s();
  if (linear->run(args, &why) != KERNEL_DONE) return INFINITY;
  return now_s() - start_s;
}

Peak peak_measure(KernelVariant variant, DType dtype, Threads *threads) {
  Peak peak = {0};
  const Kernel *linear = &kernels_of(variant)[KERNEL_linear];
  size_t matrix_bytes = (size_t)SIZE_LAST * SIZE_LAST * sizeof(float);
  uint8_t *memory = aligned_alloc(ALIGN_BYTES, 3 * matrix_bytes + WORK_PRODUCT_MOST);
  if (!memory) return peak;
  void *operand[4];
  for (int i = 0; i < 4; i++)
    operand[i] = memory + (size_t)i * matrix_bytes;
  fill(operand[0], dtype, (int64_t)SIZE_LAST * SIZE_LAST);
  fill(operand[1], dtype, (int64_t)SIZE_LAST * SIZE_LAST);
  uint32_t dtypes[4] = {dtype, dtype, dtype, DTYPE_F32};
  double start_s = now_s();
  for (int64_t size = SIZE_FIRST; size <= SIZE_LAST; size *= 2) {
    int64_t bytes = size * size * dtype_bytes(dtype);
    int64_t operand_bytes[4] = {bytes, bytes, bytes, WORK_PRODUCT_MOST};
    int64_t dim[4] = {size, size, size, 0};
    KernelArgs args = {.operand = operand,
                       .dtype = dtypes,
                       .bytes = operand_bytes,
                       .dim = dim,
                       .operand_count = 4,
                       .threads = threads};
    double took_s = 0.0, flops = 2.0 * (double)size * (double)size * (double)size;
    for (int run = 0; run < 4 && now_s() - start_s < time_limit_s; run++) {
      took_s = time_once(linear, &args);
      if (flops / took_s > peak.flops_per_s) peak = (Peak){flops / took_s, (int32_t)size};
    }
    /* the next size takes eight times as long */
    if (took_s > size_limit_s || now_s() - start_s >= time_limit_s) break;
  }
  free(memory);
  return peak;
}
