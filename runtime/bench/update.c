/* update.c -- what all cores get of host memory: by scaling it, and by updates of AdamW with fp32
 * masters of bf16 weights. */
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"
#include "runtime/bench/bench.h"
#include "runtime/device/arena.h"
#include "runtime/process/caches.h"
#include "runtime/process/cgroup.h"

enum { ELEMENTS_LEAST = 1 << 24, ROUNDS = 8, TASK_ELEMENTS = 1 << 18, CACHES = 4 };

/* The tensor is so large that memory is measured and not a cache: four times the caches of all
 * processors, but at most half of the free memory. */
static int64_t elements_of(int64_t element_bytes) {
  const int64_t available = (int64_t)(arena_available_bytes() / 2);
  int64_t bytes = CACHES * caches_bytes("");
  if (bytes > available) bytes = available;
  const int64_t elements =
      (bytes / element_bytes + TASK_ELEMENTS - 1) / TASK_ELEMENTS * TASK_ELEMENTS;
  return elements > ELEMENTS_LEAST ? elements : ELEMENTS_LEAST;
}

/* Tensors are updated in place: memory that is only written is read into the cache first, which
 * would not be counted. */
static void stream_task(void *context, int64_t task, int32_t worker) {
  float *at = (float *)context + task * TASK_ELEMENTS;
  (void)worker;
  for (int64_t i = 0; i < TASK_ELEMENTS; i++)
    at[i] *= 1.5f;
}

typedef struct BenchFill {
  uint8_t *at;
  int64_t bytes;
} BenchFill;

static void fill_task(void *context, int64_t task, int32_t worker) {
  const BenchFill *fill = context;
  (void)worker;
  memset(fill->at + task * fill->bytes, 0, (size_t)fill->bytes);
}

/* Zeros, touched by the team, so that their pages are near its threads. NULL: too little memory. */
static void *take(Threads *team, int64_t elements, int64_t element_bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 4096, (size_t)(elements * element_bytes)) != 0) return NULL;
  BenchFill fill = {memory, TASK_ELEMENTS * element_bytes};
  threads_run(team, elements / TASK_ELEMENTS, fill_task, &fill);
  return memory;
}

static bool no_memory(Status *status) {
  return status_fail(status, STATUS_WORLD, "not enough memory or threads to measure");
}

bool bench_stream(double *bytes_per_s, Status *status) {
  const int64_t elements = elements_of(sizeof(float));
  Threads *team = threads_new(processors_here(), NULL);
  float *memory = team != NULL ? take(team, elements, sizeof *memory) : NULL;
  const bool good = memory != NULL;
  double best_s = 0;
  for (int32_t round = 0; round < ROUNDS && good; round++) {
    const double from_s = bench_now_s();
    threads_run(team, elements / TASK_ELEMENTS, stream_task, memory);
    const double took_s = bench_now_s() - from_s;
    if (round == 0 || took_s < best_s) best_s = took_s;
  }
  free(memory);
  if (team != NULL) threads_free(team);
  *bytes_per_s = good ? 2.0 * sizeof(float) * (double)elements / best_s : 0;
  return good || no_memory(status);
}

bool bench_update(double *bytes_per_s, Status *status) {
  /* A gradient is read, a weight written, three states both. */
  enum { OPERANDS = 5, BYTES = 30, HELD_BYTES = 18 };
  static const uint32_t dtype[OPERANDS] = {DTYPE_F32, DTYPE_BF16, DTYPE_F32, DTYPE_F32, DTYPE_F32};
  const int64_t n = elements_of(HELD_BYTES), dim[] = {n, n, n, n, n, 0};
  const double attr[] = {0.9, 0.999, 1e-8, 0.1, 0, 0};
  uint64_t seed = 1;
  int64_t updates = 1, counts = 1, bytes[OPERANDS];
  double lr = 1e-3, clip = 1, best_s = 0;
  void *const control[] = {&seed, &updates, &lr, &clip, &counts};
  const Kernel *kernel = kernel_find("adamw_master", KERNEL_FAST);
  Threads *team = threads_new(processors_here(), NULL);
  void *operand[OPERANDS] = {NULL}, *state = NULL;
  const char *why = "not enough memory";
  bool good = team != NULL;
  for (int32_t i = 0; i < OPERANDS && good; i++) {
    bytes[i] = n * dtype_bytes((DType)dtype[i]);
    good = (operand[i] = take(team, n, dtype_bytes((DType)dtype[i]))) != NULL;
  }
  const KernelUse use = {.dtype = dtype,
                         .bytes = bytes,
                         .dim = dim,
                         .attr = attr,
                         .operand_count = OPERANDS,
                         .dim_count = 6,
                         .attr_count = 6,
                         .threads = good ? threads_count(team) : 1,
                         .align_bytes = 64};
  if (good && kernel->prepare != NULL)
    good = kernel->prepare(kernel, &use, &state, &why) == KERNEL_DONE;
  for (int32_t round = 0; round < ROUNDS && good; round++) {
    const KernelArgs args = {.operand = operand,
                             .dtype = dtype,
                             .bytes = bytes,
                             .dim = dim,
                             .attr = attr,
                             .operand_count = OPERANDS,
                             .state = state,
                             .control = control,
                             .control_count = 5,
                             .threads = team};
    const double from_s = bench_now_s();
    good = kernel->run(&args, &why) == KERNEL_DONE;
    const double took_s = bench_now_s() - from_s;
    if (round == 0 || took_s < best_s) best_s = took_s;
  }
  if (kernel->release != NULL) kernel->release(state);
  for (int32_t i = 0; i < OPERANDS; i++)
    free(operand[i]);
  if (team != NULL) threads_free(team);
  *bytes_per_s = good ? (double)BYTES * (double)n / best_s : 0;
  return good || no_memory(status);
}
