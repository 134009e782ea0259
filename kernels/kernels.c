/* kernels.c -- the kernels of this machine's processors, by number. */
#include "kernels/contract/fusions.h"
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

/* ---- fusions */

/* True if the operand that fusions.def names is the same memory in both calls. */
static bool share(const KernelFusion *fusion, const KernelArgs *first, const KernelArgs *second) {
  int32_t i = fusion->first_operand, k = fusion->second_operand;
  return first->operand[i] == second->operand[k] && first->bytes[i] == second->bytes[k] &&
         first->dtype[i] == second->dtype[k];
}

static KernelStatus run_two(KernelId first, KernelId second, CpuFused *as_one, const KernelArgs *a,
                            const KernelArgs *b, const char **why) {
  const KernelFusion *fusion = contract_fusion(first, second);
  if (share(fusion, a, b) && as_one(a, b)) return KERNEL_DONE;
  const Kernel *kernel = kernels_of(KERNEL_FAST);
  KernelStatus ended = kernel[first].run(a, why);
  return ended == KERNEL_DONE ? kernel[second].run(b, why) : ended;
}

#define FUSION(first, of_first, second, of_second, targets) targets(first, second)
#define CUDA(first, second)
#define OVER(first, second)
#define ANY(first, second)                                                                         \
  static KernelStatus run_##first##_##second(const KernelFused *fused, const KernelArgs *args,     \
                                             const char **why) {                                   \
    (void)fused;                                                                                   \
    return run_two(KERNEL_##first, KERNEL_##second, cpu_##first##_##second, &args[0], &args[1],    \
                   why);                                                                           \
  }
#include "kernels/fusions.def"
#undef ANY

static KernelStatus fuse_fast(const Kernel *const *kernel, const KernelUse *use, int32_t count,
                              KernelFused *fused, const char **why) {
  (void)use, (void)why;
#define ANY(first, after)                                                                          \
  if (count == 2 && kernel[0]->id == KERNEL_##first && kernel[1]->id == KERNEL_##after)            \
    fused->run = run_##first##_##after;
#include "kernels/fusions.def"
#undef ANY
#undef OVER
#undef CUDA
#undef FUSION
  return KERNEL_DONE;
}

static const Kernel kernels[2][KERNEL_COUNT] = {
    [KERNEL_REFERENCE] =
        {
#define KERNEL(name, ...) {KERNEL_##name, kernel_check_use, run_reference_##name, NULL, NULL, NULL},
#include "kernels/kernels.def"
#undef KERNEL
        },
    [KERNEL_FAST] =
        {
#define KERNEL(name, ...) {KERNEL_##name, kernel_check_use, run_fast_##name, NULL, NULL, fuse_fast},
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
