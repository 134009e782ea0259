/* kernels.c -- the kernels of a GPU, by number. */
#include "kernels/cuda/variants.h"
#include "kernels/prepare.h"

static const Kernel kernels[KERNEL_COUNT] = {
#define KERNEL(name, ...) {KERNEL_##name, kernel_check_use, cuda_##name, NULL},
#include "kernels/kernels.def"
#undef KERNEL
};

const Kernel *kernels_cuda(void) {
  return kernels;
}
