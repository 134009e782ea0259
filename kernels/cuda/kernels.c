/* kernels.c -- the table of kernels for GPUs. */
#include "kernels/cuda/variants.h"
#include "kernels/prepare.h"

typedef KernelStatus Together(const KernelArgs *args, int32_t count, const char **why);

static Together *const together[KERNEL_COUNT] = {
#define KERNEL(name, ...) [KERNEL_##name] = cuda_##name##_together,
#include "kernels/kernels.def"
#undef KERNEL
};

/* One launch for many records where the kernel has that, else one for each. */
static KernelStatus run_batch(const Kernel *kernel, const KernelArgs *args, int32_t count,
                              const char **why) {
  KernelStatus ended = KERNEL_DONE;
  if (together[kernel->id] != NULL) return together[kernel->id](args, count, why);
  for (int32_t i = 0; i < count && ended == KERNEL_DONE; i++)
    ended = kernel->run(&args[i], why);
  return ended;
}

static const Kernel kernels[KERNEL_COUNT] = {
#define KERNEL(name, ...)                                                                          \
  {KERNEL_##name, kernel_check_use, cuda_##name, run_batch, NULL, cuda_##name##_fuse},
#include "kernels/kernels.def"
#undef KERNEL
};

const Kernel *kernels_cuda(void) {
  return kernels;
}
