/* inline.h -- small functions compiled for processors and GPUs. */
#ifndef LOCKSTEP_KERNELS_INLINE_H
#define LOCKSTEP_KERNELS_INLINE_H

#ifdef __CUDACC__
#define KERNEL_INLINE static inline __host__ __device__
#else
#define KERNEL_INLINE static inline
#endif

#endif
