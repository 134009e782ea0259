/* plugin.h -- what the CUDA back end gives to the runtime.
 *
 * It is a shared object of its own, lockstep_cuda.so, so that programs on machines without GPUs
 * load no CUDA. Device memory is one allocation a tier; lanes are streams; marks are events. */
#ifndef LOCKSTEP_CUDA_PLUGIN_H
#define LOCKSTEP_CUDA_PLUGIN_H

#include <stddef.h>

#include "kernels/cuda/attention_told.h"
#include "kernels/cuda/choices.h"
#include "kernels/kernel.h"
#include "runtime/comm/nccl_api.h"
#include "runtime/device/device.h"

/* Both sides were built from the same of these, or the plugin is refused. */
enum { CUDA_PLUGIN_VERSION = 9 };

enum { GPU_UUID_BYTES = 48, CUDA_TEXT_BYTES = 512 };

/* A GPU, or an instance of one that is divided, as the driver tells it from others. */
typedef struct GpuId {
  char name[96], pci[32];    /* "NVIDIA H100 80GB HBM3", "0000:1b:00.0" */
  char uuid[GPU_UUID_BYTES]; /* "GPU-5a4c...", "MIG-...": no other anywhere has it */
} GpuId;

typedef struct GpuFacts {
  GpuId id;
  uint64_t memory_bytes, free_bytes;
} GpuFacts;

typedef struct CudaPlugin {
  uint32_t version;
  /* GPUs that this process sees, at least one. False: no driver, or no GPU; `status` says which. */
  bool (*count)(uint32_t *count, Status *status);
  /* One of them. Nothing of it is taken. */
  bool (*look)(uint32_t device, GpuId *id, Status *status);
  /* Before any `choose`, in a run that asks when works ran. The devices report a failure. */
  void (*listens)(void);
  /* Sets the calling thread's GPU, as CUDA counts those that the process sees. False: no such
   * GPU, or one that the kernels were not compiled for; `status` says which. */
  bool (*choose)(uint32_t device, Status *status);
  /* The calling thread's GPU, as set by choose, and how much of its memory is free now. */
  bool (*describe)(GpuFacts *facts, Status *status);
  ArenaMap memory; /* of the calling thread's GPU */
  DeviceOpen *open;
  /* The fast kernels use cublasLt for products and, where it is found, cuDNN for attention; the
   * reference kernels are all our own. NULL: `status` says which library is missing. */
  const Kernel *(*kernels)(KernelVariant variant, Status *status);
  /* The algorithms of products (choices.h): read before the first plan is bound, written after it.
   * `path` is beside the plan; `must_hold`: an algorithm that the library refuses is an error. */
  bool (*read_choices)(const char *path, bool must_hold, Status *status);
  bool (*write_choices)(const char *path, Status *status);
  int32_t (*count_choices)(int32_t *added);
  /* While the calling thread prepares kernels, its device arena may be used to time products; NULL:
   * no more, and it is clear again. */
  void (*lend)(void *memory, uint64_t size_bytes);
  /* The choices, by number; false: there are fewer. And takes those of other ranks, the last one
   * for a shape: bound records use them from then on. */
  bool (*choice_at)(int32_t number, LtChoice *choice);
  bool (*take_choices)(const LtChoice *choices, int64_t count, Status *status);
  /* The library or kernel that runs attention of the bound records, and the reason (attentions.h):
   * one line, "" for none, and before it op by op. */
  void (*tell_attention)(char text[CUDA_TEXT_BYTES]);
  int32_t (*list_attention)(AttentionTold *told, int32_t most);
  const NcclApi *nccl; /* between its ranks; NULL: the library */
} CudaPlugin;

/* The one symbol of the shared object. */
#define CUDA_PLUGIN_SYMBOL "lockstep_cuda_plugin"
const CudaPlugin *lockstep_cuda_plugin(void);

/* The plugin next to this program or in its library folder, loaded once in a process. NULL:
 * `status` says what is missing. */
const CudaPlugin *cuda_plugin(Status *status);

#endif
