/* gpus.h -- NVIDIA GPUs of this machine, as NVML of the driver reports them. Nothing of CUDA is
 * loaded, and no GPU is taken. */
#ifndef LOCKSTEP_TOPOLOGY_GPUS_H
#define LOCKSTEP_TOPOLOGY_GPUS_H

#include "compiler/job/job.h"

typedef struct Gpu {
  const char *name, *uuid, *pci; /* "NVIDIA H100 80GB HBM3", "GPU-5a4c...", "00000000:1B:00.0" */
  int64_t memory_bytes;
  int32_t major, minor; /* compute capability; 0: unknown */
  double fp32;          /* FLOP/s: cores x clock x 2; 0: unknown */
} Gpu;

typedef struct Gpus {
  VEC(Gpu) list;   /* GPUs that CUDA_VISIBLE_DEVICES leaves to this process */
  const char *why; /* the driver is installed, but reports no GPUs: why; else NULL */
} Gpus;

Gpus topology_gpus(Arena *arena);

/* True if the CUDA back end, lockstep_cuda.so, is beside this program or in its library folder. */
bool topology_has_cuda(void);

/* Sets machine->gpus and what they can do, or machine->gpu_unused: the reason why ranks cannot use
 * them. */
void topology_use_gpus(Arena *arena, const Gpus *gpus, bool has_cuda, Machine *machine);

#endif
