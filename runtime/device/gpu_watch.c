#include "runtime/device/gpu_watch.h"

#include <stdio.h>

enum { LOOK_AGAIN_NS = 1000000000 };

bool gpu_watch_open(GpuWatch *watch, const char *pci, char why[NVML_WHY_BYTES]) {
  *watch = (GpuWatch){0};
  if (!nvml_open(&watch->nvml, why)) return false;
  const Nvml *nvml = &watch->nvml;
  bool found = false;
  if (nvml->handle_at == NULL) {
    (void)snprintf(why, NVML_WHY_BYTES, "libnvidia-ml.so.1 finds no GPU by its address");
  } else {
    int error = nvml->handle_at(pci, &watch->device);
    found = error == NVML_DONE;
    if (!found)
      (void)snprintf(why, NVML_WHY_BYTES, "NVML, of %s: %s", pci, nvml->error_text(error));
  }
  if (!found) nvml_close(&watch->nvml);
  return found;
}

static int64_t clock_mhz(const Nvml *nvml, NvmlDevice device, int type) {
  unsigned mhz = 0;
  if (nvml->clock_now == NULL || nvml->clock_now(device, type, &mhz) != NVML_DONE) return -1;
  return mhz;
}

static double watts(const Nvml *nvml, NvmlDevice device) {
  unsigned milliwatts = 0;
  if (nvml->milliwatts == NULL || nvml->milliwatts(device, &milliwatts) != NVML_DONE) return -1;
  return (double)milliwatts / 1000;
}

static int64_t celsius(const Nvml *nvml, NvmlDevice device) {
  unsigned degrees = 0;
  if (nvml->celsius == NULL || nvml->celsius(device, NVML_OF_CHIP, &degrees) != NVML_DONE)
    return -1;
  return degrees;
}

static int64_t slowed(const Nvml *nvml, NvmlDevice device) {
  NvmlCount why = 0;
  return nvml->slowed == NULL || nvml->slowed(device, &why) != NVML_DONE ? -1 : (int64_t)why;
}

static int64_t used_bytes(const Nvml *nvml, NvmlDevice device) {
  NvmlMemory memory = {0};
  return nvml->memory(device, &memory) == NVML_DONE ? (int64_t)memory.used : -1;
}

bool gpu_watch_look(GpuWatch *watch, int64_t now_ns, GpuSample *sample) {
  const Nvml *nvml = &watch->nvml;
  NvmlDevice device = watch->device;
  if (nvml->library == NULL || now_ns < watch->next_ns) return false;
  watch->next_ns = now_ns + LOOK_AGAIN_NS;
  *sample = (GpuSample){.watts = watts(nvml, device),
                        .sm_mhz = clock_mhz(nvml, device, NVML_SM_CLOCK),
                        .memory_mhz = clock_mhz(nvml, device, NVML_MEMORY_CLOCK),
                        .celsius = celsius(nvml, device),
                        .used_bytes = used_bytes(nvml, device),
                        .slowed = slowed(nvml, device)};
  return true;
}

void gpu_watch_close(GpuWatch *watch) {
  nvml_close(&watch->nvml);
}
