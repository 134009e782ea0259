/* products.h -- the products of linear layers through cublasLt.
 *
 * A record's algorithm is chosen once, when it is bound: the one kept for its shape (choices.h), or
 * of the library's suggestions that keep sums in f32, within the scratch that the plan gives, the
 * fastest (products_timed.h).
 * Sums are in f32, also when partial sums are added, so the same algorithm gives the same bits. */
#ifndef LOCKSTEP_CUDA_PRODUCTS_H
#define LOCKSTEP_CUDA_PRODUCTS_H

#include "kernels/cuda/lt_api.h"
#include "kernels/kernel.h"

enum { PRODUCT_GPUS_MAX = 64 };

/* The GPU of the calling thread, counted from 0; `name` must stay valid. */
typedef int32_t ProductGpu(const char **name);

/* The kernels of a GPU, by KernelId: linear, linear_bias, linear_dx and linear_dw through the
 * library, the others as kernels_cuda has them. One library a process. */
const Kernel *kernels_cuda_with(const LtApi *api, ProductGpu *gpu);

/* All bound records take the algorithms that choices.h has now. False: the library does not take
 * one of them. */
bool products_settle(void);

#endif
