/* gpu_find.h -- which of the GPUs that a process sees is a rank's. CUDA_VISIBLE_DEVICES, which
 * Slurm sets, hides some and may turn their order round; so where a plan says at which address a
 * rank's GPU is, the address decides and not the number. */
#ifndef LOCKSTEP_DEVICE_GPU_FIND_H
#define LOCKSTEP_DEVICE_GPU_FIND_H

#include "runtime/device/cuda/plugin.h"

typedef struct GpuWanted {
  const char
      *pci; /* where the plan has it; "": the node is not described, and the number decides */
  uint32_t number; /* among the ranks' on its node */
  bool is_alone;   /* the process has no other rank: where it sees one GPU, that is meant for it */
} GpuWanted;

/* `device`: as CUDA counts those that this process sees. False: `status` says what it sees instead,
 * and what to do. */
bool gpu_find(const CudaPlugin *cuda, GpuWanted wanted, uint32_t *device, Status *status);

/* True if two PCI addresses are equal, apart from upper case and leading zeros. */
bool gpu_is_at(const char *pci, const char *other);

/* CUDA shows a process the first alone of the MIG instances that CUDA_VISIBLE_DEVICES lists. Of
 * several, this leaves the one of that number (or all, where there are fewer); before the driver is
 * first called. */
void gpu_take_instance(uint32_t number);

#endif
