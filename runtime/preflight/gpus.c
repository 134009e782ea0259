/* gpus.c -- NVML's calls, declared as its header has them: the header comes with CUDA, the library
 * with the driver. */
#include "runtime/preflight/gpus.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>

enum { NVML_DONE = 0, NVML_SM_CLOCK = 1, NVML_APPLICATIONS = 1, NVML_UNCORRECTED = 1 };
enum { NVML_SINCE_LOADED = 0 };
enum { NVML_SLOWDOWN = 0x8, NVML_SOFT_HEAT = 0x20, NVML_HEAT = 0x40, NVML_BRAKE = 0x80 };

typedef void *NvmlDevice;
typedef unsigned long long NvmlCount;
typedef struct NvmlMemory {
  NvmlCount total, free, used;
} NvmlMemory;

typedef struct Nvml {
  int (*init)(void);
  int (*shutdown)(void);
  const char *(*error_text)(int);
  int (*count)(unsigned *);
  int (*handle)(unsigned, NvmlDevice *);
  int (*memory)(NvmlDevice, NvmlMemory *);
  /* these an older library or device may lack */
  int (*most_clock)(NvmlDevice, int, unsigned *);
  int (*clock)(NvmlDevice, int, int, unsigned *);
  int (*errors)(NvmlDevice, int, int, NvmlCount *);
  int (*rows)(NvmlDevice, unsigned *, unsigned *, unsigned *, unsigned *);
  int (*slowed)(NvmlDevice, NvmlCount *);
} Nvml;

/* NULL: it has all that is needed; else the name of what it lacks. */
static const char *find_calls(void *library, Nvml *nvml) {
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
      {"nvmlDeviceGetMaxClockInfo", &nvml->most_clock, false},
      {"nvmlDeviceGetClock", &nvml->clock, false},
      {"nvmlDeviceGetTotalEccErrors", &nvml->errors, false},
      {"nvmlDeviceGetRemappedRows", &nvml->rows, false},
      {"nvmlDeviceGetCurrentClocksThrottleReasons", &nvml->slowed, false},
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    void *call = dlsym(library, calls[i].name);
    if (call == NULL && calls[i].is_needed) return calls[i].name;
    *(void **)calls[i].to = call;
  }
  return NULL;
}

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

static void look_at(const Nvml *nvml, unsigned number, Gpu *gpu) {
  NvmlDevice device = NULL;
  NvmlMemory memory = {0};
  int error = nvml->handle(number, &device);
  if (error == NVML_DONE) error = nvml->memory(device, &memory);
  *gpu = (Gpu){.memory = -1,
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

void gpus_look(Gpus *gpus) {
  Nvml nvml = {0};
  unsigned count = 0;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  const char *lacks = library != NULL ? find_calls(library, &nvml) : NULL;
  *gpus = (Gpus){.count = -1};
  if (library == NULL) {
    (void)snprintf(gpus->absent, sizeof gpus->absent, "%s", dlerror());
  } else if (lacks != NULL) {
    (void)snprintf(gpus->absent, sizeof gpus->absent, "libnvidia-ml.so.1 has no %s", lacks);
  } else {
    int error = nvml.init();
    bool is_open = error == NVML_DONE;
    if (is_open) error = nvml.count(&count);
    if (error == NVML_DONE)
      gpus->count = count < GPUS_MOST ? (int32_t)count : GPUS_MOST;
    else
      (void)snprintf(gpus->absent, sizeof gpus->absent, "NVML: %s", nvml.error_text(error));
    for (int32_t i = 0; i < gpus->count; i++)
      look_at(&nvml, (unsigned)i, &gpus->gpu[i]);
    if (is_open) (void)nvml.shutdown();
  }
  if (library != NULL) (void)dlclose(library);
}

void gpus_print(const Gpus *gpus, FILE *out) {
  fprintf(out, "gpus count=%" PRId32 " absent=%s\n", gpus->count, gpus->absent);
  for (int32_t i = 0; i < gpus->count; i++) {
    const Gpu *g = &gpus->gpu[i];
    fprintf(out,
            "gpu %" PRId32 " memory=%" PRId64 " free=%" PRId64 " mhz=%" PRId64 " most_mhz=%" PRId64
            " errors=%" PRId64 " broken=%" PRId64 " slowed=%" PRId64 " fault=%s\n",
            i, g->memory, g->free, g->mhz, g->most_mhz, g->errors, g->broken, g->slowed, g->fault);
  }
}
