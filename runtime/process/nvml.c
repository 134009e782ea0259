#include "runtime/process/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

/* NULL: the library has every call that is needed; otherwise the name of a missing one. */
static const char *find_calls(Nvml *nvml) {
  const struct {
    const char *name;
    void *to; /* a function pointer of the table */
    bool is_needed;
  } calls[] = {
      {"nvmlInit_v2", &nvml->init, true},
      {"nvmlShutdown", &nvml->shutdown, true},
      {"nvmlErrorString", &nvml->error_text, true},
      {"nvmlDeviceGetCount_v2", &nvml->count, true},
      {"nvmlDeviceGetHandleByIndex_v2", &nvml->handle, true},
      {"nvmlDeviceGetMemoryInfo", &nvml->memory, true},
      {"nvmlDeviceGetHandleByPciBusId_v2", &nvml->handle_at, false},
      {"nvmlDeviceGetMaxClockInfo", &nvml->most_clock, false},
      {"nvmlDeviceGetClock", &nvml->clock, false},
      {"nvmlDeviceGetClockInfo", &nvml->clock_now, false},
      {"nvmlDeviceGetPowerUsage", &nvml->milliwatts, false},
      {"nvmlDeviceGetTemperature", &nvml->celsius, false},
      {"nvmlDeviceGetTotalEccErrors", &nvml->errors, false},
      {"nvmlDeviceGetRemappedRows", &nvml->rows, false},
      {"nvmlDeviceGetCurrentClocksThrottleReasons", &nvml->slowed, false},
      {"nvmlDeviceGetName", &nvml->name, false},
      {"nvmlDeviceGetUUID", &nvml->uuid, false},
      {"nvmlDeviceGetPciInfo_v3", &nvml->pci, false},
      {"nvmlDeviceGetCudaComputeCapability", &nvml->capability, false},
      {"nvmlDeviceGetNumGpuCores", &nvml->cores, false},
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    void *call = dlsym(nvml->library, calls[i].name);
    if (call == NULL && calls[i].is_needed) return calls[i].name;
    *(void **)calls[i].to = call;
  }
  return NULL;
}

bool nvml_open(Nvml *nvml, char why[NVML_WHY_BYTES]) {
  *nvml = (Nvml){.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
  if (nvml->library == NULL) {
    (void)snprintf(why, NVML_WHY_BYTES, "%s", dlerror());
    return false;
  }
  const char *lacks = find_calls(nvml);
  int error = lacks == NULL ? nvml->init() : NVML_DONE;
  if (lacks == NULL && error == NVML_DONE) return true;
  if (lacks != NULL)
    (void)snprintf(why, NVML_WHY_BYTES, "libnvidia-ml.so.1 has no %s", lacks);
  else
    (void)snprintf(why, NVML_WHY_BYTES, "NVML: %s", nvml->error_text(error));
  (void)dlclose(nvml->library);
  nvml->library = NULL;
  return false;
}

void nvml_close(Nvml *nvml) {
  if (nvml->library == NULL) return;
  (void)nvml->shutdown();
  (void)dlclose(nvml->library);
  nvml->library = NULL;
}
