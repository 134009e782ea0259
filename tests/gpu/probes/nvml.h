/* nvml.h -- the few NVML calls we need, by dlopen: the toolkit may lack nvml.h, and a machine
 * without a driver lacks the library. Declarations after NVIDIA's NVML API reference, release 580.
 */
#ifndef GPU_NVML_H
#define GPU_NVML_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  char driver_version[96];
  char name[96];
  unsigned sm_clock_mhz, sm_clock_max_mhz, memory_clock_mhz;
  unsigned power_mw, power_limit_mw;
  unsigned temperature_c;
  unsigned long long memory_used_bytes, memory_total_bytes;
} NvmlReading;

/* Opens libnvidia-ml.so.1, reads device 0, closes it again. A value that the device does not
 * report stays 0. False with a failure kept when the library, a function or the device is absent.
 */
bool nvml_read(NvmlReading *reading);

#endif
