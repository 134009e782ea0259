#include "tests/gpu/probes/nvml.h"

#include <dlfcn.h>
#include <string.h>

#include "tests/gpu/common/probe.h"

typedef int NvmlReturn; /* 0 is success */
typedef void *NvmlDevice;

typedef struct {
  unsigned long long total, free, used;
} NvmlMemory;

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, TEMPERATURE_GPU = 0 };

typedef struct {
  NvmlReturn (*init)(void);
  NvmlReturn (*shutdown)(void);
  NvmlReturn (*driver_version)(char *text, unsigned length);
  NvmlReturn (*device_at)(unsigned index, NvmlDevice *device);
  NvmlReturn (*name)(NvmlDevice device, char *text, unsigned length);
  NvmlReturn (*clock)(NvmlDevice device, unsigned type, unsigned *clock_mhz);
  NvmlReturn (*clock_max)(NvmlDevice device, unsigned type, unsigned *clock_mhz);
  NvmlReturn (*power)(NvmlDevice device, unsigned *power_mw);
  NvmlReturn (*power_limit)(NvmlDevice device, unsigned *power_mw);
  NvmlReturn (*temperature)(NvmlDevice device, unsigned sensor, unsigned *temperature_c);
  NvmlReturn (*memory)(NvmlDevice device, NvmlMemory *memory);
} Nvml;

static bool find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  if (!symbol) FAIL("%s", dlerror());
  memcpy(function, &symbol, sizeof symbol); /* ISO C has no cast from a data to a code pointer */
  return true;
}

static bool find_all(void *library, Nvml *nvml) {
  TRY(find(library, "nvmlInit_v2", &nvml->init));
  TRY(find(library, "nvmlShutdown", &nvml->shutdown));
  TRY(find(library, "nvmlSystemGetDriverVersion", &nvml->driver_version));
  TRY(find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->device_at));
  TRY(find(library, "nvmlDeviceGetName", &nvml->name));
  TRY(find(library, "nvmlDeviceGetClockInfo", &nvml->clock));
  TRY(find(library, "nvmlDeviceGetMaxClockInfo", &nvml->clock_max));
  TRY(find(library, "nvmlDeviceGetPowerUsage", &nvml->power));
  TRY(find(library, "nvmlDeviceGetEnforcedPowerLimit", &nvml->power_limit));
  TRY(find(library, "nvmlDeviceGetTemperature", &nvml->temperature));
  return find(library, "nvmlDeviceGetMemoryInfo", &nvml->memory);
}

static bool read_device(const Nvml *nvml, NvmlReading *reading) {
  NvmlDevice device = NULL;
  NvmlMemory memory = {0};
  NvmlReturn result = nvml->device_at(0, &device);
  if (result != 0) FAIL("nvmlDeviceGetHandleByIndex_v2 -> %d", result);
  (void)nvml->driver_version(reading->driver_version, sizeof reading->driver_version);
  (void)nvml->name(device, reading->name, sizeof reading->name);
  (void)nvml->clock(device, CLOCK_SM, &reading->sm_clock_mhz);
  (void)nvml->clock_max(device, CLOCK_SM, &reading->sm_clock_max_mhz);
  (void)nvml->clock(device, CLOCK_MEMORY, &reading->memory_clock_mhz);
  (void)nvml->power(device, &reading->power_mw);
  (void)nvml->power_limit(device, &reading->power_limit_mw);
  (void)nvml->temperature(device, TEMPERATURE_GPU, &reading->temperature_c);
  (void)nvml->memory(device, &memory);
  reading->memory_used_bytes = memory.used;
  reading->memory_total_bytes = memory.total;
  return true;
}

static bool read_library(void *library, NvmlReading *reading) {
  Nvml nvml = {0};
  TRY(find_all(library, &nvml));
  NvmlReturn result = nvml.init();
  if (result != 0) FAIL("nvmlInit_v2 -> %d", result);
  bool ok = read_device(&nvml, reading);
  (void)nvml.shutdown();
  return ok;
}

bool nvml_read(NvmlReading *reading) {
  *reading = (NvmlReading){0};
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) FAIL("%s", dlerror());
  bool ok = read_library(library, reading);
  dlclose(library);
  return ok;
}
