#include "tests/gpu/probes/kernels.h"

__global__ void axpb(float *x, int count, float a, float b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] = x[i] * a + b;
}

/* Each block copies a contiguous tile, so that its loads fall into few DRAM pages. */
template <int UNROLL> __global__ void copy(uint4 *to, const uint4 *from, size_t count) {
  size_t start = (size_t)blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
  uint4 held[UNROLL];
#pragma unroll
  for (int i = 0; i < UNROLL; i++) {
    size_t at = start + (size_t)i * blockDim.x;
    if (at < count) held[i] = __ldcs(from + at);
  }
#pragma unroll
  for (int i = 0; i < UNROLL; i++) {
    size_t at = start + (size_t)i * blockDim.x;
    if (at < count) __stcs(to + at, held[i]);
  }
}

cudaError_t kernel_axpb(float *x, int count, float a, float b, cudaStream_t stream) {
  constexpr int THREADS = 256;
  axpb<<<(count + THREADS - 1) / THREADS, THREADS, 0, stream>>>(x, count, a, b);
  return cudaGetLastError();
}

cudaError_t kernel_copy(void *to, const void *from, size_t size_bytes, cudaStream_t stream) {
  constexpr int THREADS = 256, UNROLL = 4;
  size_t count = size_bytes / sizeof(uint4);
  size_t blocks = (count + THREADS * UNROLL - 1) / (THREADS * UNROLL);
  copy<UNROLL><<<(unsigned)blocks, THREADS, 0, stream>>>((uint4 *)to, (const uint4 *)from, count);
  return cudaGetLastError();
}
