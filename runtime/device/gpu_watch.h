/* gpu_watch.h -- what NVML reports about one GPU while it works: power, clocks, temperature,
 * memory. */
#ifndef LOCKSTEP_DEVICE_GPU_WATCH_H
#define LOCKSTEP_DEVICE_GPU_WATCH_H

#include <stdint.h>

#include "runtime/process/nvml.h"

/* -1: not reported by the GPU. */
typedef struct GpuSample {
  double watts;
  int64_t sm_mhz, memory_mhz;
  int64_t celsius;
  int64_t used_bytes; /* of its memory, by all processes */
  int64_t slowed;     /* why its clocks are reduced: NVML's bits; 0 and 1: they are not */
} GpuSample;

typedef struct GpuWatch {
  Nvml nvml;
  NvmlDevice device;
  int64_t next_ns; /* the earliest time of the next query */
} GpuWatch;

/* The GPU at this address of the PCI bus, as CUDA writes it ("0000:1b:00.0"). False: `why` says
 * what is missing, and nothing is to be closed. */
bool gpu_watch_open(GpuWatch *watch, const char *pci, char why[NVML_WHY_BYTES]);

/* Asks at most once a second by the clock of `now_ns`. False: it is too early. */
bool gpu_watch_look(GpuWatch *watch, int64_t now_ns, GpuSample *sample);

void gpu_watch_close(GpuWatch *watch);

#endif
