/* device.h -- one device, one stream, one piece of device memory, medians of event timings. */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "tests/gpu/common/numeric.h"
#include "tests/gpu/common/probe.h"

/* In a function that returns bool: a CUDA error becomes the case's failure. */
#define TRY_CUDA(call)                                                                             \
  do {                                                                                             \
    cudaError_t error_ = (call);                                                                   \
    if (error_ != cudaSuccess)                                                                     \
      FAIL("%s -> %s: %s", #call, cudaGetErrorName(error_), cudaGetErrorString(error_));           \
  } while (0)

typedef struct {
  cudaStream_t stream;
  struct cudaDeviceProp properties;
  char *arena; /* one cudaMalloc for the whole probe: a failed case cannot leak */
  size_t arena_bytes;
  size_t used_bytes;
} Device;

/* Opens device 0 and reserves `arena_bytes` of its memory. Exits with PROBE_NO_DEVICE and one
 * sentence when there is no GPU or no driver, with PROBE_FAILED when there is one that fails. */
void device_open(Device *device, size_t arena_bytes);

/* The next `size_bytes` of the arena, aligned to 256. NULL (a failure is kept) when it is full. */
void *device_take(Device *device, size_t size_bytes);

/* Takes everything back. Waits for the stream, and clears a non-sticky error of the last case. */
void device_reset(Device *device);

/* Takes room for `count` elements and fills it with the pattern. NULL when that failed. */
void *device_take_pattern(Device *device, const Pattern *pattern, int64_t count);

/* Median time of one `run(context)`, which enqueues work on device->stream. Warm: two runs come
 * before, and repeats run back to back, so small operands stay in the L2 cache. */
bool device_time(Device *device, bool (*run)(void *context), void *context, double *time_us);

#endif
