/* kernels.h -- the two kernels the probes need, callable from C. */
#ifndef GPU_KERNELS_H
#define GPU_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* x[i] = x[i] * a + b, for count <= 4096: as small as a training step's smallest kernels. */
cudaError_t kernel_axpb(float *x, int count, float a, float b, cudaStream_t stream);

/* to[0..size_bytes) = from[..]: 16 bytes a thread, four in flight. A multiple of 16; no overlap. */
cudaError_t kernel_copy(void *to, const void *from, size_t size_bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
