#include "runtime/preflight/gpus.h"

#include <inttypes.h>
#include <stdbool.h>

#include "runtime/process/nvml.h"

static int64_t clock_mhz(const Nvml *nvml, NvmlDevice device) {
  unsigned mhz = 0;
  bool is_known = nvml->clock && nvml->clock(device, NVML_SM_CLOCK, NVML_APPLICATIONS, &mhz) == 0;
  return is_known && mhz > 0 ? (int64_t)mhz : -1;
}

static int64_t most_mhz(const Nvml *nvml, NvmlDevice device) {
  unsigned mhz = 0;
  bool is_known = nvml->most_clock && nvml->most_clock(device, NVML_SM_CLOCK, &mhz) == NVML_DONE;
  return is_known ? (int64_t)mhz : -1;
}

static int64_t memory_errors(const Nvml *nvml, NvmlDevice device) {
  NvmlCount count = 0;
  bool is_known = nvml->errors &&
                  nvml->errors(device, NVML_UNCORRECTED, NVML_SINCE_LOADED, &count) == NVML_DONE;
  return is_known ? (int64_t)count : -1;
}

static int64_t broken_rows(const Nvml *nvml, NvmlDevice device) {
  unsigned corrected = 0, uncorrected = 0, waits = 0, failed = 0;
  bool is_known =
      nvml->rows && nvml->rows(device, &corrected, &uncorrected, &waits, &failed) == NVML_DONE;
  return is_known ? waits || failed : -1;
}

static int64_t why_slowed(const Nvml *nvml, NvmlDevice device) {
  NvmlCount why = 0;
  if (nvml->slowed == NULL || nvml->slowed(device, &why) != NVML_DONE) return -1;
  return (why & (NVML_SOFT_HEAT | NVML_HEAT) ? GPU_HOT : 0) |
         (why & NVML_BRAKE ? GPU_POWER_BRAKE : 0) | (why & NVML_SLOWDOWN ? GPU_SLOWED : 0);
}

static void look_at(const Nvml *nvml, unsigned number, PreflightGpu *gpu) {
  NvmlDevice device = NULL;
  NvmlMemory memory = {0};
  int error = nvml->handle(number, &device);
  if (error == NVML_DONE) error = nvml->memory(device, &memory);
  *gpu = (PreflightGpu){.memory = -1,
                        .free = -1,
                        .mhz = -1,
                        .most_mhz = -1,
                        .errors = -1,
                        .broken = -1,
                        .slowed = -1};
  if (error != NVML_DONE) {
    (void)snprintf(gpu->fault, sizeof gpu->fault, "%s", nvml->error_text(error));
    return;
  }
  gpu->memory = (int64_t)memory.total;
  gpu->free = (int64_t)memory.free;
  gpu->mhz = clock_mhz(nvml, device);
  gpu->most_mhz = most_mhz(nvml, device);
  gpu->errors = memory_errors(nvml, device);
  gpu->broken = broken_rows(nvml, device);
  gpu->slowed = why_slowed(nvml, device);
}

void gpus_look(PreflightGpus *gpus) {
  Nvml nvml;
  unsigned count = 0;
  *gpus = (PreflightGpus){.count = -1};
  if (!nvml_open(&nvml, gpus->absent)) return;
  int error = nvml.count(&count);
  if (error == NVML_DONE)
    gpus->count = count < GPUS_MOST ? (int32_t)count : GPUS_MOST;
  else
    (void)snprintf(gpus->absent, sizeof gpus->absent, "NVML: %s", nvml.error_text(error));
  for (int32_t i = 0; i < gpus->count; i++)
    look_at(&nvml, (unsigned)i, &gpus->gpu[i]);
  nvml_close(&nvml);
}

void gpus_print(const PreflightGpus *gpus, FILE *out) {
  fprintf(out, "gpus count=%" PRId32 " absent=%s\n", gpus->count, gpus->absent);
  for (int32_t i = 0; i < gpus->count; i++) {
    const PreflightGpu *g = &gpus->gpu[i];
    fprintf(out,
            "gpu %" PRId32 " memory=%" PRId64 " free=%" PRId64 " mhz=%" PRId64 " most_mhz=%" PRId64
            " errors=%" PRId64 " broken=%" PRId64 " slowed=%" PRId64 " fault=%s\n",
            i, g->memory, g->free, g->mhz, g->most_mhz, g->errors, g->broken, g->slowed, g->fault);
  }
}
