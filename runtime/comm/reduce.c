/* reduce.c -- a block of sums stays in cache while the members' blocks are added to it, one after
 * the other. */
#include "runtime/comm/reduce.h"

#include <assert.h>
#include <string.h>

#include "kernels/math/floats.h"
#include "runtime/comm/pieces.h"

enum {
  BLOCK_ELEMENTS = 1024,
  PARALLEL_ELEMENTS = 32 * 1024 /* below, a thread's wake-up costs more than its share of work */
};

/* NaN wins a maximum: a broken value must not hide. */
#define REDUCE_BODY(Type, load, store)                                                             \
  Type sums[BLOCK_ELEMENTS];                                                                       \
  for (int64_t i = 0; i < count; i++)                                                              \
    sums[i] = load(x[0], first + i);                                                               \
  for (int32_t member = 1; member < members; member++)                                             \
    for (int64_t i = 0; i < count; i++) {                                                          \
      Type value = load(x[member], first + i);                                                     \
      if (reduce == REDUCE_SUM)                                                                    \
        sums[i] += value;                                                                          \
      else if (!(sums[i] >= value) && sums[i] == sums[i])                                          \
        sums[i] = value;                                                                           \
    }                                                                                              \
  for (int64_t i = 0; i < count; i++)                                                              \
    store(y, done + i, sums[i]);

#define LOAD_F32(x, i)          ((const float *)(x))[i]
#define STORE_F32(y, i, value)  ((float *)(y))[i] = (value)
#define LOAD_F64(x, i)          ((const double *)(x))[i]
#define STORE_F64(y, i, value)  ((double *)(y))[i] = (value)
#define LOAD_BF16(x, i)         bf16_to_float(((const uint16_t *)(x))[i])
#define STORE_BF16(y, i, value) ((uint16_t *)(y))[i] = bf16_from_float(value)
#define LOAD_F16(x, i)          f16_to_float(((const uint16_t *)(x))[i])
#define STORE_F16(y, i, value)  ((uint16_t *)(y))[i] = f16_from_float(value)

static void block_f32(void *y, const void *const *x, int32_t members, int64_t first, int64_t done,
                      int64_t count, ReduceOp reduce) {
  REDUCE_BODY(float, LOAD_F32, STORE_F32)
}

static void block_f64(void *y, const void *const *x, int32_t members, int64_t first, int64_t done,
                      int64_t count, ReduceOp reduce) {
  REDUCE_BODY(double, LOAD_F64, STORE_F64)
}

static void block_bf16(void *y, const void *const *x, int32_t members, int64_t first, int64_t done,
                       int64_t count, ReduceOp reduce) {
  REDUCE_BODY(float, LOAD_BF16, STORE_BF16)
}

static void block_f16(void *y, const void *const *x, int32_t members, int64_t first, int64_t done,
                      int64_t count, ReduceOp reduce) {
  REDUCE_BODY(float, LOAD_F16, STORE_F16)
}

void reduce_range(void *y, const void *const *x, int32_t members, int64_t first,
                  CommElements elements, ReduceOp reduce) {
  assert(dtype_is_float(elements.dtype));
  for (int64_t done = 0; done < elements.count; done += BLOCK_ELEMENTS) {
    int64_t left = elements.count - done, block = left < BLOCK_ELEMENTS ? left : BLOCK_ELEMENTS;
    if (elements.dtype == DTYPE_F32) block_f32(y, x, members, first + done, done, block, reduce);
    if (elements.dtype == DTYPE_F64) block_f64(y, x, members, first + done, done, block, reduce);
    if (elements.dtype == DTYPE_BF16) block_bf16(y, x, members, first + done, done, block, reduce);
    if (elements.dtype == DTYPE_F16) block_f16(y, x, members, first + done, done, block, reduce);
  }
}

int32_t reduce_tasks(const Threads *threads, int64_t elements) {
  return threads && elements >= PARALLEL_ELEMENTS ? threads_count(threads) : 1;
}

void reduce_run(Threads *threads, int32_t tasks, ThreadsTask *task, void *context) {
  if (tasks > 1)
    threads_run(threads, tasks, task, context);
  else
    task(context, 0, 0);
}

typedef struct ReduceJob {
  char *y;
  const void *const *x;
  int32_t members;
  int32_t tasks;
  int64_t first;
  CommElements elements;
  ReduceOp reduce;
} ReduceJob;

static void reduce_task(void *context, int64_t task, int32_t worker) {
  (void)worker;
  const ReduceJob *job = context;
  CommPart mine = comm_part(job->elements.count, job->tasks, (int32_t)task);
  reduce_range(job->y + mine.first * dtype_bytes(job->elements.dtype), job->x, job->members,
               job->first + mine.first, (CommElements){mine.count, job->elements.dtype},
               job->reduce);
}

void reduce_parallel(Threads *threads, void *y, const void *const *x, int32_t members,
                     int64_t first, CommElements elements, ReduceOp reduce) {
  ReduceJob job = {y, x, members, reduce_tasks(threads, elements.count), first, elements, reduce};
  reduce_run(threads, job.tasks, reduce_task, &job);
}
