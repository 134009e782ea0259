#include "tests/gpu/common/device.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 5 };
static const double BATCH_US = 1000.0; /* events tick coarsely: time at least this much at once */

static bool is_absence(cudaError_t error) {
  return error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice ||
         error == cudaErrorStubLibrary;
}

static void give_up(const char *call, cudaError_t error) {
  bool absent = is_absence(error);
  fprintf(stderr, "%s: %s -> %s: %s\n", absent ? "no GPU" : "broken", call, cudaGetErrorName(error),
          cudaGetErrorString(error));
  exit(absent ? PROBE_NO_DEVICE : PROBE_FAILED);
}

void device_open(Device *device, size_t arena_bytes) {
  *device = (Device){.arena_bytes = arena_bytes};
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  if (error != cudaSuccess) give_up("cudaGetDeviceCount", error);
  error = cudaGetDeviceProperties(&device->properties, 0);
  if (error != cudaSuccess) give_up("cudaGetDeviceProperties", error);
  error = cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) give_up("cudaStreamCreateWithFlags", error);
  if (arena_bytes == 0) return;
  error = cudaMalloc((void **)&device->arena, arena_bytes);
  if (error != cudaSuccess) give_up("cudaMalloc", error);
}

void *device_take(Device *device, size_t size_bytes) {
  size_t rounded_bytes = (size_bytes + 255) & ~(size_t)255;
  if (rounded_bytes > device->arena_bytes - device->used_bytes) {
    probe_fail(__FILE__, __LINE__, "arena full: %zu bytes more than its %zu",
               device->used_bytes + rounded_bytes - device->arena_bytes, device->arena_bytes);
    return NULL;
  }
  void *place = device->arena + device->used_bytes;
  device->used_bytes += rounded_bytes;
  return place;
}

void device_reset(Device *device) {
  (void)cudaStreamSynchronize(device->stream);
  (void)cudaGetLastError();
  device->used_bytes = 0;
}

/* Doubles the filled prefix; every prefix but the last is a multiple of the period. */
static bool fill(Device *device, const Pattern *pattern, char *place, int64_t count) {
  size_t each_bytes = number_size_bytes(pattern->type);
  int64_t filled = count < PATTERN_PERIOD ? count : PATTERN_PERIOD;
  void *host = malloc((size_t)filled * each_bytes);
  if (!host) FAIL("out of host memory");
  pattern_write(pattern, host, filled);
  cudaError_t error = cudaMemcpyAsync(place, host, (size_t)filled * each_bytes,
                                      cudaMemcpyHostToDevice, device->stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(device->stream);
  free(host);
  TRY_CUDA(error);
  while (filled < count) {
    int64_t more = filled < count - filled ? filled : count - filled;
    TRY_CUDA(cudaMemcpyAsync(place + (size_t)filled * each_bytes, place, (size_t)more * each_bytes,
                             cudaMemcpyDeviceToDevice, device->stream));
    filled += more;
  }
  TRY_CUDA(cudaStreamSynchronize(device->stream));
  return true;
}

void *device_take_pattern(Device *device, const Pattern *pattern, int64_t count) {
  char *place = device_take(device, (size_t)count * number_size_bytes(pattern->type));
  if (!place || !fill(device, pattern, place, count)) return NULL;
  return place;
}

typedef struct {
  cudaEvent_t start;
  cudaEvent_t stop;
} Stopwatch;

/* Time of `count` runs in a row. */
static bool time_batch(Device *device, Stopwatch *watch, int count, bool (*run)(void *context),
                       void *context, double *batch_us) {
  TRY_CUDA(cudaEventRecord(watch->start, device->stream));
  for (int i = 0; i < count; i++)
    TRY(run(context));
  TRY_CUDA(cudaEventRecord(watch->stop, device->stream));
  TRY_CUDA(cudaEventSynchronize(watch->stop));
  float time_ms = 0.0f;
  TRY_CUDA(cudaEventElapsedTime(&time_ms, watch->start, watch->stop));
  *batch_us = (double)time_ms * 1e3;
  return true;
}

static bool time_repeats(Device *device, Stopwatch *watch, bool (*run)(void *context),
                         void *context, double *time_us) {
  double batch_us = 0.0;
  TRY(time_batch(device, watch, 1, run, context, &batch_us));
  TRY(time_batch(device, watch, 1, run, context, &batch_us));
  int count = batch_us > BATCH_US ? 1 : (int)(BATCH_US / (batch_us > 1.0 ? batch_us : 1.0)) + 1;
  double samples_us[REPEATS];
  for (int i = 0; i < REPEATS; i++) {
    TRY(time_batch(device, watch, count, run, context, &samples_us[i]));
    samples_us[i] /= count;
  }
  *time_us = median(samples_us, REPEATS);
  return true;
}

bool device_time(Device *device, bool (*run)(void *context), void *context, double *time_us) {
  Stopwatch watch;
  TRY_CUDA(cudaEventCreate(&watch.start));
  TRY_CUDA(cudaEventCreate(&watch.stop));
  bool ok = time_repeats(device, &watch, run, context, time_us);
  (void)cudaEventDestroy(watch.start);
  (void)cudaEventDestroy(watch.stop);
  return ok;
}
