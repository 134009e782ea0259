/* nvml_stand_in.c -- NVML for machines without GPUs: as many as the environment says, each of them
 * sound unless the environment says otherwise of GPU 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, NOT_SUPPORTED = 3, LOST = 15 };
enum { SM_CLOCK = 1, MEMORY_CLOCK = 2, APPLICATIONS = 1, UNCORRECTED = 1, SINCE_LOADED = 0 };
static const char gpu_1, other_gpu; /* what device handles point to */

typedef unsigned long long Count;

static Count said(const char *name, Count otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 0) : otherwise;
}

/* GPU 1 has the counts that the environment names. */
static Count of(const void *device, const char *name, Count otherwise) {
  return device == &gpu_1 ? said(name, otherwise) : otherwise;
}

static int opened;

/* NOLINTBEGIN(readability-identifier-naming): the library's names */
int nvmlInit_v2(void) {
  opened++;
  return (int)said("NVML_INIT", DONE);
}

int nvmlShutdown(void) {
  return --opened == 0 ? DONE : NOT_SUPPORTED;
}

const char *nvmlErrorString(int error) {
  return error == LOST ? "GPU is lost" : error == 9 ? "Driver Not Loaded" : "Not Supported";
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = (unsigned)said("NVML_COUNT", 2);
  return opened ? DONE : NOT_SUPPORTED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned number, const void **device) {
  *device = number == 1 ? &gpu_1 : &other_gpu;
  return number == 1 && said("NVML_LOST", 0) ? LOST : DONE;
}

/* GPU 1 is at 0000:01:00.0, and no other anywhere. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, const void **device) {
  *device = &gpu_1;
  return strcmp(pci, "0000:01:00.0") == 0 ? DONE : NOT_SUPPORTED;
}

int nvmlDeviceGetPowerUsage(const void *device, unsigned *milliwatts) {
  *milliwatts = (unsigned)of(device, "NVML_MILLIWATTS", 412500);
  return DONE;
}

int nvmlDeviceGetClockInfo(const void *device, int type, unsigned *mhz) {
  *mhz = type == SM_CLOCK ? 1755 : 2619;
  return device && (type == SM_CLOCK || type == MEMORY_CLOCK) ? DONE : NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(const void *device, int of_what, unsigned *celsius) {
  *celsius = 0;
  return device && of_what == 0 ? NOT_SUPPORTED : DONE; /* this GPU does not tell */
}

int nvmlDeviceGetMemoryInfo(const void *device, Count memory[3]) {
  memory[0] = 80000000000u;
  memory[1] = of(device, "NVML_FREE", 79000000000u);
  memory[2] = memory[0] - memory[1];
  return DONE;
}

int nvmlDeviceGetMaxClockInfo(const void *device, int type, unsigned *mhz) {
  *mhz = 1980;
  return device && type == SM_CLOCK ? DONE : NOT_SUPPORTED;
}

int nvmlDeviceGetClock(const void *device, int type, int id, unsigned *mhz) {
  *mhz = (unsigned)of(device, "NVML_MHZ", 1980);
  return type == SM_CLOCK && id == APPLICATIONS ? DONE : NOT_SUPPORTED;
}

int nvmlDeviceGetTotalEccErrors(const void *device, int type, int since, Count *count) {
  *count = of(device, "NVML_ERRORS", 0);
  return type == UNCORRECTED && since == SINCE_LOADED ? DONE : NOT_SUPPORTED;
}

int nvmlDeviceGetRemappedRows(const void *device, unsigned *corrected, unsigned *uncorrected,
                              unsigned *waits, unsigned *failed) {
  *corrected = *uncorrected = *failed = 0;
  *waits = (unsigned)of(device, "NVML_WAITS", 0);
  return DONE;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(const void *device, Count *why) {
  *why = of(device, "NVML_SLOWED", 1); /* idle */
  return DONE;
}

int nvmlDeviceGetName(const void *device, char *name, unsigned bytes) {
  const char *said_name = getenv("NVML_NAME");
  (void)snprintf(name, bytes, "%s", said_name ? said_name : "stand-in GPU");
  return device ? DONE : NOT_SUPPORTED;
}

int nvmlDeviceGetUUID(const void *device, char *uuid, unsigned bytes) {
  (void)snprintf(uuid, bytes, "GPU-0%d", device == &gpu_1);
  return DONE;
}

int nvmlDeviceGetCudaComputeCapability(const void *device, int *major, int *minor) {
  *major = (int)said("NVML_MAJOR", 9);
  *minor = 0;
  return device ? DONE : NOT_SUPPORTED;
}

int nvmlDeviceGetNumGpuCores(const void *device, unsigned *cores) {
  *cores = 16896;
  return device ? DONE : NOT_SUPPORTED;
}
/* NOLINTEND(readability-identifier-naming) */
