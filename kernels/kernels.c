/* kernels.c -- the kernels of this machine's processors, by number. */
#include "kernels/kernel.h"
#include "kernels/prepare.h"
#include "kernels/variants.h"

KernelStatus kernel_check_use(const Kernel *kernel, const KernelUse *use, void **state,
                              const char **why) {
  const KernelContract *contract = contract_of(kernel->id);
  int32_t scratch = contract->row->workspace != NULL ? contract->operand_count - 1 : -1;
  *state = NULL;
  *why = NULL;
  if (!contract_operands_fit(contract, (uint32_t)use->operand_count))
    *why = "it has another number of operands";
  else if (!contract_dims_fit(contract, use->dim, (uint32_t)use->dim_count))
    *why = "its dims are not those of the kernel";
  else if (use->attr_count < contract->attr_count)
    *why = "it has too few attrs";
  for (int32_t i = 0; *why == NULL && i < use->operand_count; i++) {
    int64_t elements = i == scratch ? 0 : contract_elements(contract, i, use->dim);
    int64_t unit = dtype_bytes((DType)use->dtype[i]), bytes = 0;
    if (i == scratch)
      bytes = contract_workspace_bytes(contract, use->target, use->dim, use->threads);
    else if (elements < 0 || __builtin_mul_overflow(elements, unit, &bytes))
      *why = "its dims are no sizes";
    if (use->bytes[i] < bytes)
      *why = i == scratch ? "its scratch is too small" : "an operand is smaller than its dims say";
  }
  return *why == NULL ? KERNEL_DONE : KERNEL_REFUSED;
}

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
#define KERNEL(name, ...) {KERNEL_##name, kernel_check_use, run_reference_##name, NULL},
#include "kernels/kernels.def"
#undef KERNEL
        },
    [KERNEL_FAST] =
        {
#define KERNEL(name, ...) {KERNEL_##name, kernel_check_use, run_fast_##name, NULL},
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
