/* inline.h -- small functions that a processor and a GPU compute alike. */
#ifndef LOCKSTEP_KERNELS_INLINE_H
#define LOCKSTEP_KERNELS_INLINE_H

#ifdef __CUDACC__
#define KERNEL_INLINE static inline __host__ __device__
#else
#define KERNEL_INLINE static inline
#endif

#endif
