/* variants.h -- declares cuda_NAME for every kernel of kernels.def, cuda_NAME_together for those
 * that run many records in one launch (CUDA_KERNEL_TOGETHER defines both), cuda_NAME_fusion for
 * those that may be fused with the record after them (Kernel.fuse), and their table. */
#ifndef LOCKSTEP_CUDA_VARIANTS_H
#define LOCKSTEP_CUDA_VARIANTS_H

#include "kernels/kernel.h"

/* Weak: NULL where nobody defines it. */
#define KERNEL(name, ...)                                                                          \
  KernelStatus cuda_##name(const KernelArgs *args, const char **why);                              \
  KernelStatus cuda_##name##_together(const KernelArgs *args, int32_t count, const char **why)     \
      __attribute__((weak));                                                                       \
  KernelStatus cuda_##name##_fuse(const Kernel *const *kernel, const KernelUse *use,               \
                                  int32_t count, KernelFused *fused, const char **why)             \
      __attribute__((weak));
#include "kernels/kernels.def"
#undef KERNEL

/* Codes of a matrix of rows x cols, turned: fp8.cu. */
KernelStatus cuda_turn_codes(const KernelArgs *args, const void *from, void *to, int64_t rows,
                             int64_t cols, const char **why);
/* Scales as cublasLt has them: `to` has rows of `stride`, and columns of `from` are rows where they
 * are turned. */
KernelStatus cuda_order_scales(const KernelArgs *args, const void *from, void *to, int64_t rows,
                               int64_t cols, int64_t stride, bool turned, const char **why);

/* The kernels of a GPU, by KernelId. */
const Kernel *kernels_cuda(void);

#endif
