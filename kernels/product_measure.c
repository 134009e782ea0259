/* product_measure.c -- how fast the chosen variant of the matrix product is here. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/contract/workspace.h"
#include "kernels/kernel.h"
#include "kernels/math/bf16.h"
#include "kernels/product.h"

enum { ROWS = 256, IN = 768, OUT = 3072, RUNS_LEAST = 3, ALIGN_BYTES = 64 };

double product_flops(void) {
  return 2.0 * ROWS * IN * OUT;
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Small, varying numbers, so that they are no easier for a kernel than real ones. */
static void fill(void *to, bool bf16, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    float value = (float)(i * 37 % 101 - 50) * 0.01f;
    if (bf16)
      ((uint16_t *)to)[i] = bf16_from_float(value);
    else
      ((float *)to)[i] = value;
  }
}

/* The best time of one kernel. Factors are operands 0 and 1, the result is 2, the scratch 3. */
static double best_of(KernelId id, bool bf16, const int64_t count[3], uint8_t *memory,
                      Threads *threads, double limit_s) {
  const Kernel *kernel = &kernels_of(KERNEL_FAST)[id];
  const uint32_t dtype = bf16 ? DTYPE_BF16 : DTYPE_F32;
  const uint32_t dtypes[4] = {dtype, dtype, dtype, DTYPE_F32};
  const int64_t dim[4] = {ROWS, IN, OUT, 0};
  int64_t bytes[4];
  void *operand[4];
  for (int i = 0; i < 4; i++) {
    bytes[i] = i < 3 ? count[i] * dtype_bytes((DType)dtype) : WORK_PRODUCT_MOST;
    operand[i] = memory;
    if (i < 2) fill(memory, bf16, count[i]);
    memory += bytes[i];
  }
  KernelArgs args = {.operand = operand,
                     .dtype = dtypes,
                     .bytes = bytes,
                     .dim = dim,
                     .operand_count = 4,
                     .threads = threads};
  double best_s = INFINITY, start_s = now_s();
  for (int run = 0; run < RUNS_LEAST || now_s() - start_s < limit_s; run++) {
    const char *why = NULL;
    double run_s = now_s();
    if (kernel->run(&args, &why) != KERNEL_DONE) return INFINITY;
    best_s = fmin(best_s, now_s() - run_s);
  }
  return best_s;
}

bool product_measure(bool bf16, int32_t threads, double limit_s, double seconds[PRODUCT_PARTS]) {
  const int64_t x = ROWS * IN, w = (int64_t)IN * OUT, y = ROWS * OUT;
  uint8_t *memory = aligned_alloc(ALIGN_BYTES, (size_t)(4 * (x + w + y) + WORK_PRODUCT_MOST));
  Threads *team = threads_new(threads, NULL);
  bool good = memory && team;
  if (good) {
    seconds[0] = best_of(KERNEL_linear, bf16, (int64_t[]){x, w, y}, memory, team, limit_s);
    seconds[1] = best_of(KERNEL_linear_dx, bf16, (int64_t[]){y, w, x}, memory, team, limit_s);
    seconds[2] = best_of(KERNEL_linear_dw, bf16, (int64_t[]){x, y, w}, memory, team, limit_s);
  }
  if (team) threads_free(team);
  free(memory);
  return good;
}
