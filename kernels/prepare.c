/* prepare.c -- checks a record against its kernel's row, once before its first call. */
#include "kernels/prepare.h"

KernelStatus kernel_check_use(const Kernel *kernel, const KernelUse *use, void **state,
                              const char **why) {
  const KernelContract *contract = contract_of(kernel->id);
  int32_t scratch = contract->row->workspace != NULL ? contract->operand_count - 1 : -1;
  WorkspaceUse work = {use->target, use->dim, use->dtype, use->threads,
                       contract_is_tf32(contract, use->attr, use->attr_count)};
  *state = NULL;
  *why = NULL;
  if (!contract_operands_fit(contract, use->dtype, (uint32_t)use->operand_count))
    *why = "it has another number of operands";
  else if (!contract_dims_fit(contract, use->dim, (uint32_t)use->dim_count))
    *why = "its dims are not those of the kernel";
  else if (use->attr_count < contract->attr_count)
    *why = "it has too few attrs";
  for (int32_t i = 0; *why == NULL && i < use->operand_count; i++) {
    int64_t elements = i == scratch ? 0 : contract_elements(contract, i, use->dim);
    int64_t unit = dtype_bytes((DType)use->dtype[i]), bytes = 0;
    if (i == scratch)
      bytes = contract_workspace_bytes(contract, &work);
    else if (elements < 0 || __builtin_mul_overflow(elements, unit, &bytes))
      *why = "its dims are no sizes";
    if (use->bytes[i] < bytes)
      *why = i == scratch ? "its scratch is too small" : "an operand is smaller than its dims say";
  }
  return *why == NULL ? KERNEL_DONE : KERNEL_REFUSED;
}
