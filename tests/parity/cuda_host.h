/* cuda_host.h -- a back end for GPUs that is this processor: the sources of its kernels by the shim
 * (kernels/cuda/host), streams that are threads, memory of the host, and stand-ins for cublasLt and
 * NCCL. What a GPU, its driver and these libraries would do is not seen. */
#ifndef LOCKSTEP_TESTS_CUDA_HOST_H
#define LOCKSTEP_TESTS_CUDA_HOST_H

#include "runtime/device/cuda/plugin.h"

/* Memory that the GPU has in use beside a rank's arena. */
enum { CUDA_HOST_OUTSIDE_BYTES = 700000000 };

/* Every work of a stream may wait so long before it runs; 0: none does. */
const CudaPlugin *cuda_host_plugin(int64_t delay_most_ns);

/* cuda_host_gpus.c: the GPUs of its node are those of CUDA_HOST_GPUS, "0000:1b:00.0
 * GPU-1,0000:3b:00.0 GPU-2", or else 64 without an address; as by CUDA's driver a process sees
 * those of them that CUDA_VISIBLE_DEVICES names, by number or by the beginning of a UUID, up to the
 * first that is none, and of MIG instances one. */
bool cuda_host_count(uint32_t *count, Status *status);
bool cuda_host_look(uint32_t device, GpuId *id, Status *status);

/* So many captures fail from now on, whichever ranks' they are. */
void cuda_host_refuse(int captures);

/* Graphs that were replayed since the last call. */
int cuda_host_replays(void);

#endif
