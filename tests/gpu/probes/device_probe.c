/* device_probe -- what the device is, what NVML says of it, and how fast its memory copies.
 *
 * The copies are checked byte for byte. Rates count bytes read and bytes written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/common/device.h"
#include "tests/gpu/common/record.h"
#include "tests/gpu/probes/kernels.h"
#include "tests/gpu/probes/nvml.h"

static const size_t COPY_BYTES = (size_t)2 << 30; /* 34 times the 60 MB L2 of an H200 */

typedef struct {
  Device *device;
  char *from, *to;
} Copy;

static bool copy_by_engine(void *context) {
  const Copy *copy = context;
  TRY_CUDA(cudaMemcpyAsync(copy->to, copy->from, COPY_BYTES, cudaMemcpyDeviceToDevice,
                           copy->device->stream));
  return true;
}

static bool copy_by_kernel(void *context) {
  const Copy *copy = context;
  TRY_CUDA(kernel_copy(copy->to, copy->from, COPY_BYTES, copy->device->stream));
  return true;
}

static bool clear_by_engine(void *context) {
  const Copy *copy = context;
  TRY_CUDA(cudaMemsetAsync(copy->to, 0, COPY_BYTES, copy->device->stream));
  return true;
}

/* Compares 16 MB from the end of both buffers: the tail is what an off-by-one would miss. */
static bool same_tail(const Copy *copy) {
  enum { TAIL_BYTES = 16 << 20 };
  char *from = malloc(TAIL_BYTES), *to = malloc(TAIL_BYTES);
  size_t start = COPY_BYTES - TAIL_BYTES;
  bool ok =
      from && to &&
      cudaMemcpy(from, copy->from + start, TAIL_BYTES, cudaMemcpyDeviceToHost) == cudaSuccess &&
      cudaMemcpy(to, copy->to + start, TAIL_BYTES, cudaMemcpyDeviceToHost) == cudaSuccess &&
      memcmp(from, to, TAIL_BYTES) == 0;
  free(from);
  free(to);
  return ok || probe_fail(__FILE__, __LINE__, "the copy differs from its source");
}

static bool measure_copy(Results *results, Device *device, bool (*run)(void *)) {
  Pattern pattern = {TYPE_FP32, 21, 1.0f};
  Copy copy = {.device = device};
  TRY(copy.from = device_take_pattern(device, &pattern, (int64_t)(COPY_BYTES / sizeof(float))));
  TRY(copy.to = device_take(device, COPY_BYTES));
  TRY_CUDA(cudaMemsetAsync(copy.to, 0xff, COPY_BYTES, device->stream));
  double time_us = 0.0;
  TRY(device_time(device, run, &copy, &time_us));
  bool clears = run == clear_by_engine;
  double bytes = (double)COPY_BYTES * (clears ? 1.0 : 2.0);
  record_number(results, "time_us", time_us);
  record_number(results, "bandwidth_gb_per_s", bytes / time_us * 1e-3);
  return clears || same_tail(&copy);
}

static void run_copy(Results *results, Device *device, const char *name, bool (*run)(void *)) {
  record_begin(results, "device", name);
  record_text(results, "kind", "memory");
  record_integer(results, "size_bytes", (int64_t)COPY_BYTES);
  bool ok = measure_copy(results, device, run);
  device_reset(device);
  record_end(results, ok);
}

static void run_properties(Results *results, const Device *device) {
  const struct cudaDeviceProp *p = &device->properties;
  int driver = 0, runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  record_begin(results, "device", "properties");
  record_text(results, "kind", "properties");
  record_text(results, "name", p->name);
  record_integer(results, "compute_capability", p->major * 10 + p->minor);
  record_integer(results, "multiprocessors", p->multiProcessorCount);
  record_integer(results, "memory_bytes", (int64_t)p->totalGlobalMem);
  record_integer(results, "l2_bytes", p->l2CacheSize);
  record_integer(results, "shared_per_block_optin_bytes", (int64_t)p->sharedMemPerBlockOptin);
  record_integer(results, "cuda_driver_version", driver);
  record_integer(results, "cuda_runtime_version", runtime);
  record_end(results, true);
}

static void run_nvml(Results *results, const char *name) {
  NvmlReading reading;
  record_begin(results, "device", name);
  record_text(results, "kind", "nvml");
  bool ok = nvml_read(&reading);
  if (ok) {
    record_text(results, "driver_version", reading.driver_version);
    record_text(results, "name", reading.name);
    record_integer(results, "sm_clock_mhz", reading.sm_clock_mhz);
    record_integer(results, "sm_clock_max_mhz", reading.sm_clock_max_mhz);
    record_integer(results, "memory_clock_mhz", reading.memory_clock_mhz);
    record_number(results, "power_w", reading.power_mw * 1e-3);
    record_number(results, "power_limit_w", reading.power_limit_mw * 1e-3);
    record_integer(results, "temperature_c", reading.temperature_c);
    record_integer(results, "memory_used_bytes", (int64_t)reading.memory_used_bytes);
    record_integer(results, "memory_total_bytes", (int64_t)reading.memory_total_bytes);
  }
  record_end(results, ok);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: device_probe RESULTS.jsonl\n");
    return PROBE_USAGE;
  }
  static Device device;
  device_open(&device, 2 * COPY_BYTES + 512);
  Results *results = results_open(argv[1]);
  if (!results) return PROBE_FAILED;
  run_properties(results, &device);
  run_nvml(results, "nvml, idle");
  run_copy(results, &device, "copy, cudaMemcpy", copy_by_engine);
  run_copy(results, &device, "copy, kernel", copy_by_kernel);
  run_copy(results, &device, "clear, cudaMemset", clear_by_engine);
  run_nvml(results, "nvml, after the copies");
  return results_close(results) ? PROBE_PASSED : PROBE_FAILED;
}
