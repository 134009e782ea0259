/* gpus.h -- what NVML, the library of NVIDIA's driver, reports about a node's GPUs; loaded for the
 * full check of a plan for GPUs.
 *
 * One line "gpus count=N absent=REASON", then one for each GPU: "gpu I memory=BYTES ..." and
 * fault=REASON to the end of the line. -1: not reported by the GPU. */
#ifndef LOCKSTEP_PREFLIGHT_GPUS_H
#define LOCKSTEP_PREFLIGHT_GPUS_H

#include <stdint.h>
#include <stdio.h>

#include "runtime/process/nvml.h"

enum { GPUS_MOST = 64, GPUS_TEXT_BYTES = NVML_WHY_BYTES };

/* Why its clocks are reduced. */
enum { GPU_HOT = 1, GPU_POWER_BRAKE = 2, GPU_SLOWED = 4 };

typedef struct PreflightGpu {
  int64_t memory, free; /* bytes */
  int64_t mhz,
      most_mhz;   /* clock of its multiprocessors: the current limit, and the highest possible */
  int64_t errors; /* of memory, uncorrected since the driver was loaded */
  /* 1: a reset is needed to replace bad rows of memory, or no spare rows are left */
  int64_t broken;
  int64_t slowed;              /* GPU_HOT ... */
  char fault[GPUS_TEXT_BYTES]; /* why nothing is known about it, or "" */
} PreflightGpu;

typedef struct PreflightGpus {
  int32_t count;                /* -1: NVML is not available */
  char absent[GPUS_TEXT_BYTES]; /* and why */
  PreflightGpu gpu[GPUS_MOST];
} PreflightGpus;

void gpus_look(PreflightGpus *gpus);
void gpus_print(const PreflightGpus *gpus, FILE *out);

#endif
