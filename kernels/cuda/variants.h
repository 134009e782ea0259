/* variants.h -- declares cuda_NAME for every kernel of kernels.def, and their table. */
#ifndef LOCKSTEP_CUDA_VARIANTS_H
#define LOCKSTEP_CUDA_VARIANTS_H

#include "kernels/kernel.h"

#define KERNEL(name, ...) KernelStatus cuda_##name(const KernelArgs *args, const char **why);
#include "kernels/kernels.def"
#undef KERNEL

/* The kernels of a GPU, by KernelId. */
const Kernel *kernels_cuda(void);

#endif
