/* order.h -- the shim, as C sees it. */
#ifndef LOCKSTEP_CUDA_HOST_ORDER_H
#define LOCKSTEP_CUDA_HOST_ORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order in which blocks and threads of the calling thread's kernels run from here on. */
void cuda_host_order(uint64_t seed);

/* Bytes of shared memory that a block may ask for from here on, on a GPU with tensor cores; 0: on
 * one without. At first those of an H100. */
void cuda_host_shared_most(int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
