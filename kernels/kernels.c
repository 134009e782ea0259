/* kernels.c -- the kernels of this machine's processors, by number. */
#include "kernels/kernel.h"
#include "kernels/prepare.h"
#include "kernels/variants.h"

/* Kernels of a CPU cannot fail. */
#define KERNEL(name, variant, ...)                                                                 \
  static KernelStatus run_reference_##name(const KernelArgs *args, const char **why) {             \
    (void)why;                                                                                     \
    reference_##name(args);                                                                        \
    return KERNEL_DONE;                                                                            \
  }                                                                                                \
  static KernelStatus run_fast_##name(const KernelArgs *args, const char **why) {                  \
    (void)why;                                                                                     \
    variant(name)(args);                                                                           \
    return KERNEL_DONE;                                                                            \
  }
#include "kernels/kernels.def"
#undef KERNEL

static const Kernel kernels[2][KERNEL_COUNT] = {
    [KERNEL_REFERENCE] =
        {
#define KERNEL(name, ...) {KERNEL_##name, kernel_check_use, run_reference_##name, NULL, NULL, NULL},
#include "kernels/kernels.def"
#undef KERNEL
        },
    [KERNEL_FAST] =
        {
#define KERNEL(name, ...) {KERNEL_##name, kernel_check_use, run_fast_##name, NULL, NULL, NULL},
#include "kernels/kernels.def"
#undef KERNEL
        },
};

const Kernel *kernels_of(KernelVariant variant) {
  return kernels[variant];
}

const Kernel *kernel_find(const char *name, KernelVariant variant) {
  const KernelContract *contract = contract_find(name);
  return contract == NULL ? NULL : &kernels[variant][contract->id];
}
