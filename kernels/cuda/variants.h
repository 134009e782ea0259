/* variants.h -- declares cuda_NAME for every kernel of kernels.def, cuda_NAME_together for those
 * that run many records in one launch, and their table. */
#ifndef LOCKSTEP_CUDA_VARIANTS_H
#define LOCKSTEP_CUDA_VARIANTS_H

#include "kernels/kernel.h"

#define KERNEL(name, ...) KernelStatus cuda_##name(const KernelArgs *args, const char **why);
#include "kernels/kernels.def"
#undef KERNEL

#define CUDA_TOGETHER(T)                                                                           \
  T(adamw) T(adamw_master) T(sgd) T(sgd_master) T(lion) T(lion_master) T(square_sum)
#define DECLARE(name)                                                                              \
  KernelStatus cuda_##name##_together(const KernelArgs *args, int32_t count, const char **why);
CUDA_TOGETHER(DECLARE)
#undef DECLARE

/* The kernels of a GPU, by KernelId. */
const Kernel *kernels_cuda(void);

#endif
