#include "runtime/device/cuda/measure.h"

#include <cuda_runtime_api.h>
#include <time.h>

#include "kernels/cuda/products_timed.h"

enum { RUNS_MOST = 32 };

static bool fill(void *to, uint64_t size_bytes, const void *pattern, uint64_t pattern_bytes) {
  uint64_t done = size_bytes < pattern_bytes ? size_bytes : pattern_bytes;
  bool good = cudaMemcpy(to, pattern, done, cudaMemcpyHostToDevice) == cudaSuccess;
  while (good && done < size_bytes) { /* doubles what is there */
    const uint64_t more = done < size_bytes - done ? done : size_bytes - done;
    good = cudaMemcpy((char *)to + done, to, more, cudaMemcpyDeviceToDevice) == cudaSuccess;
    done += more;
  }
  return good && cudaDeviceSynchronize() == cudaSuccess;
}

static bool run(ProductTry *product, const void *context, cudaStream_t stream, int32_t runs,
                const cudaEvent_t *events) {
  bool good = cudaEventRecord(events[0], stream) == cudaSuccess;
  for (int32_t i = 0; i < runs && good; i++)
    good = product(context, stream) && cudaEventRecord(events[i + 1], stream) == cudaSuccess;
  return cudaStreamSynchronize(stream) == cudaSuccess && good;
}

/* Runs follow each other without a pause, so the launch is not in the time of any but the first. */
static bool time_runs(ProductTry *product, const void *context, int32_t runs, int64_t *took_ns) {
  cudaEvent_t events[RUNS_MOST + 1] = {NULL};
  cudaStream_t stream = NULL;
  bool good =
      runs <= RUNS_MOST && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
  for (int32_t i = 0; i <= runs && good; i++)
    good = cudaEventCreateWithFlags(&events[i], cudaEventDefault) == cudaSuccess;
  good = good && run(product, context, stream, runs, events);
  for (int32_t i = 0; i < runs && good; i++) {
    float ms = 0;
    good = cudaEventElapsedTime(&ms, events[i], events[i + 1]) == cudaSuccess;
    took_ns[i] = (int64_t)((double)ms * 1e6);
  }
  for (int32_t i = 0; i <= RUNS_MOST; i++)
    if (events[i] != NULL) (void)cudaEventDestroy(events[i]);
  if (stream != NULL) (void)cudaStreamDestroy(stream);
  if (!good) (void)cudaGetLastError(); /* kernels would take it for their own */
  return good;
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void cuda_lend(void *memory, uint64_t size_bytes) {
  static _Thread_local struct {
    void *memory;
    uint64_t size_bytes;
  } lent;
  static ProductClock clock = {.fill = fill, .time = time_runs, .now_ns = now_ns};
  int version = 0;
  if (memory == NULL && lent.memory != NULL) {
    (void)cudaMemset(lent.memory, 0, lent.size_bytes);
    (void)cudaDeviceSynchronize();
  }
  lent.memory = memory, lent.size_bytes = size_bytes;
  if (cudaDriverGetVersion(&version) == cudaSuccess) clock.driver = version;
  products_lend(&clock, memory, size_bytes);
}
