/* order.h -- the shim, as C sees it. */
#ifndef LOCKSTEP_CUDA_HOST_ORDER_H
#define LOCKSTEP_CUDA_HOST_ORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C"
#endif
    /* The order in which blocks and threads of the calling thread's kernels run from here on. */
    void
    cuda_host_order(uint64_t seed);

#endif
