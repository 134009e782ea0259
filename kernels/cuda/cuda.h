/* cuda.h -- included by every file of kernels/cuda.
 *
 * cuda_NAME is the kernel NAME of kernels.def on a GPU: it issues its work to the stream of its
 * arguments and returns. The same sources are compiled by nvcc for GPUs, and by the host compiler
 * with host/shim.h for tests. Values are f32, bf16 or fp16 and are computed with in f32; sums over
 * rows have a fixed order, so that two runs are bitwise equal: no atomics. */
#ifndef LOCKSTEP_KERNELS_CUDA_H
#define LOCKSTEP_KERNELS_CUDA_H

#include "kernels/cuda/numbers.h"

/* ---- threads ---- */

enum { FLAT_THREADS = 256, ROW_THREADS = 128, WARP_LANES = 32, WARPS_MAX = 32 };

/* Loops over elements 0 .. n-1, divided among all threads of the grid. */
#define EACH_ELEMENT(i, n)                                                                         \
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;                                      \
  i < (n);                                                                                         \
  i += (int64_t)gridDim.x * blockDim.x

/* Shared memory of a block. */
#ifdef __CUDACC__
#define SHARED(type, name, count) __shared__ type name[count]
#else
#define SHARED(type, name, count)                                                                  \
  static const char name##_site = 0;                                                               \
  type *name = (type *)shim::shared(&name##_site, sizeof(type) * (count))
#endif

/* Shared memory whose size the launch gives (Launch::blocks_with): all of it, at most once in a
 * kernel. */
#ifdef __CUDACC__
#define SHARED_OF_LAUNCH(type, name, count)                                                        \
  extern __shared__ uint4 shared_of_launch[];                                                      \
  type *name = (type *)shared_of_launch;                                                           \
  (void)(count)
#else
#define SHARED_OF_LAUNCH(type, name, count) SHARED(type, name, (count) > 0 ? (count) : 1)
#endif

template <class T> __device__ inline T warp_sum(T value) {
  for (int lanes = WARP_LANES / 2; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, lanes);
  return value;
}

__device__ inline float warp_max(float value) {
  for (int lanes = WARP_LANES / 2; lanes > 0; lanes /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, value, lanes);
    value = other > value ? other : value;
  }
  return value;
}

/* Every thread of the block gets the sum; terms are always added in the same order. */
template <class T> __device__ inline T block_sum(T value) {
  SHARED(T, part, WARPS_MAX);
  unsigned warp = threadIdx.x / WARP_LANES, warps = blockDim.x / WARP_LANES;
  value = warp_sum(value);
  __syncthreads(); /* wait until the previous sum has been read */
  if (threadIdx.x % WARP_LANES == 0) part[warp] = value;
  __syncthreads();
  T sum = 0;
  for (unsigned i = 0; i < warps; i++)
    sum += part[i];
  return sum;
}

__device__ inline float block_max(float value) {
  SHARED(float, part, WARPS_MAX);
  unsigned warp = threadIdx.x / WARP_LANES, warps = blockDim.x / WARP_LANES;
  value = warp_max(value);
  __syncthreads();
  if (threadIdx.x % WARP_LANES == 0) part[warp] = value;
  __syncthreads();
  float highest = part[0];
  for (unsigned i = 1; i < warps; i++)
    highest = part[i] > highest ? part[i] : highest;
  return highest;
}

/* ---- launching, on the host ---- */

/* The launches of one kernel call, up to the first that fails. */
class Launch {
public:
  Launch(const KernelArgs *args, const char **why, const char *name)
      : status(KERNEL_DONE), args_(args), why_(why), name_(name) {}

  /* One thread for each of n elements, or for several; the kernel has no barriers. */
  template <class... P, class... A> void flat(int64_t n, void (*kernel)(P...), A... a) {
    int64_t blocks = (n + FLAT_THREADS - 1) / FLAT_THREADS;
    if (blocks > BLOCKS_MOST) blocks = BLOCKS_MOST;
    if (n > 0) issue(dim3((unsigned)blocks), dim3(FLAT_THREADS), false, 0, kernel, P(a)...);
  }

  /* One thread for each vector of V of n elements, or for several: for kernels that use
   * each_vector. */
  template <int V, class... P, class... A> void vectors(int64_t n, void (*kernel)(P...), A... a) {
    flat((n + V - 1) / V, kernel, a...);
  }

  /* One block for each number of the grid; for kernels with barriers. */
  template <class... P, class... A>
  void blocks(dim3 grid, unsigned threads, void (*kernel)(P...), A... a) {
    blocks_with(grid, threads, 0, kernel, a...);
  }

  /* The same with this many bytes of shared memory beside what the kernel declares. */
  template <class... P, class... A>
  void blocks_with(dim3 grid, unsigned threads, size_t shared_bytes, void (*kernel)(P...), A... a) {
    if (grid.x > 0 && grid.y > 0 && grid.z > 0)
      issue(grid, dim3(threads), true, shared_bytes, kernel, P(a)...);
  }

  KernelStatus status;

private:
  enum {
    BLOCKS_MOST = 132 * 16,    /* enough to fill the largest GPUs */
    SHARED_UNASKED = 40 * 1024 /* with what kernels declare, within 48 KiB: needs no permission */
  };

  template <class... P>
  void issue(dim3 grid, dim3 block, bool has_barriers, size_t shared_bytes, void (*kernel)(P...),
             P... p) {
    if (status != KERNEL_DONE) return;
#ifdef __CUDACC__
    (void)has_barriers, (void)name_;
    cudaError_t error = cudaSuccess;
    if (shared_bytes > SHARED_UNASKED)
      error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   (int)shared_bytes);
    if (error == cudaSuccess) {
      kernel<<<grid, block, shared_bytes, (cudaStream_t)args_->stream>>>(p...);
      error = cudaGetLastError();
    }
    if (error == cudaSuccess) return;
    *why_ = cudaGetErrorString(error);
    status = KERNEL_FAILED;
#else
    (void)why_, (void)args_, (void)shared_bytes;
    auto thread = [=] { kernel(p...); };
    typedef decltype(thread) Thread;
    shim::launch(
        name_, grid, block, has_barriers, [](const void *t) { (*(const Thread *)t)(); }, &thread);
#endif
  }

  const KernelArgs *args_;
  const char **why_;
  const char *name_;
};

/* Calls `body` with a number of the type that `dtype` says: float, Bf16 or F16. */
template <class Body> KernelStatus with_float(uint32_t dtype, const char **why, Body body) {
  if (dtype == DTYPE_F32) return body(float());
  if (dtype == DTYPE_BF16) return body(Bf16());
  if (dtype == DTYPE_F16) return body(F16());
  *why = "kernels for GPUs take values in f32, bf16 and fp16 only";
  return KERNEL_REFUSED;
}

template <class Body>
KernelStatus with_floats(uint32_t first, uint32_t second, const char **why, Body body) {
  return with_float(first, why, [&](auto a) {
    return with_float(second, why, [&](auto b) { return body(a, b); });
  });
}

/* Defines cuda_NAME. */
#define CUDA_KERNEL(name)                                                                          \
  extern "C" KernelStatus cuda_##name(const KernelArgs *args, const char **why)

/* Defines cuda_NAME_fuse, a Kernel.fuse. */
#define CUDA_FUSION(name)                                                                          \
  extern "C" KernelStatus cuda_##name##_fuse(const Kernel *const *kernel, const KernelUse *use,    \
                                             int32_t count, KernelFused *fused, const char **why)

/* cuda_NAME_together, and of it cuda_NAME. */
#define CUDA_KERNEL_TOGETHER(name)                                                                 \
  CUDA_KERNEL(name) {                                                                              \
    return cuda_##name##_together(args, 1, why);                                                   \
  }                                                                                                \
  extern "C" KernelStatus cuda_##name##_together(const KernelArgs *args, int32_t count,            \
                                                 const char **why)

#endif
