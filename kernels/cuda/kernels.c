/* kernels.c -- the kernels of a GPU, by number. */
#include "kernels/cuda/variants.h"
#include "kernels/prepare.h"

/* Those that have one launch for many tensors; the others have one each. */
static KernelStatus run_together(const Kernel *kernel, const KernelArgs *args, int32_t count,
                                 const char **why) {
#define TOGETHER(name)                                                                             \
  if (kernel->id == KERNEL_##name) return cuda_##name##_together(args, count, why);
  CUDA_TOGETHER(TOGETHER)
#undef TOGETHER
  KernelStatus ended = KERNEL_DONE;
  for (int32_t i = 0; i < count && ended == KERNEL_DONE; i++)
    ended = kernel->run(&args[i], why);
  return ended;
}

static const Kernel kernels[KERNEL_COUNT] = {
#define KERNEL(name, ...) {KERNEL_##name, kernel_check_use, cuda_##name, run_together, NULL},
#include "kernels/kernels.def"
#undef KERNEL
};

const Kernel *kernels_cuda(void) {
  return kernels;
}
