/* contract.c -- queries on the rows that parse.c has read. */
#include "kernels/contract/contract.h"

#include <string.h>

const KernelContract *contract_find(const char *kernel) {
  const KernelContract *all = contract_of(0);
  for (KernelId id = 0; id < KERNEL_COUNT; id++) /* most callers have a row's own text */
    if (all[id].row->name == kernel) return &all[id];
  for (KernelId id = 0; id < KERNEL_COUNT; id++)
    if (strcmp(all[id].row->name, kernel) == 0) return &all[id];
  return NULL;
}

int32_t contract_dim(const KernelContract *contract, const char *name) {
  for (int32_t i = 0; i < contract->dim_count; i++)
    if (strcmp(contract->dims[i].name, name) == 0) return i;
  return -1;
}

int32_t contract_operand(const KernelContract *contract, const char *name) {
  for (int32_t i = 0; i < contract->operand_count; i++)
    if (strcmp(contract->operands[i].name, name) == 0) return i;
  return -1;
}

uint32_t contract_controls_in(const KernelContract *contract, uint64_t slots) {
  uint32_t named = 0;
  for (int32_t i = 0; i < contract->control_count; i++)
    if (!contract->controls[i].may_be_absent ||
        (slots & CONTROL_BIT(contract->controls[i].slot)) != 0)
      named |= 1u << i;
  return named;
}

int32_t contract_attrs_in(const KernelContract *contract, bool tf32) {
  return contract->attr_count + (tf32 && contract->may_be_tf32);
}

bool contract_is_tf32(const KernelContract *contract, const double *attrs, int64_t count) {
  return contract->may_be_tf32 && count > contract->attr_count && attrs[contract->attr_count] != 0;
}

uint64_t contract_control_reads(const KernelContract *contract) {
  uint64_t slots = 0;
  for (int32_t i = 0; i < contract->control_count; i++)
    if (contract->controls[i].access != KERNEL_WRITE)
      slots |= CONTROL_BIT(contract->controls[i].slot);
  return slots;
}

uint64_t contract_control_writes(const KernelContract *contract) {
  uint64_t slots = 0;
  for (int32_t i = 0; i < contract->control_count; i++)
    if (contract->controls[i].access != KERNEL_READ)
      slots |= CONTROL_BIT(contract->controls[i].slot);
  return slots;
}

static bool pieces_fit(const int64_t *dims, uint32_t count) {
  if (count < 2 || dims[1] < 1 || dims[1] > KERNEL_DIMS_MAX) return false;
  for (uint32_t i = 0; i < count; i++)
    if (dims[i] < 1) return false;
  return count == 2 + 2 * (uint32_t)dims[1];
}

bool contract_dims_fit(const KernelContract *contract, const int64_t *dims, uint32_t count) {
  if (contract->is_broadcast) {
    if (count == 0 || dims[0] < 0 || dims[0] > KERNEL_DIMS_MAX) return false;
    if (count != 1 + 2 * (uint32_t)dims[0]) return false;
    return true;
  }
  if (contract->is_pieces) return pieces_fit(dims, count);
  if (count != (uint32_t)contract->dim_count) return false;
  for (uint32_t i = 0; i < count; i++)
    if (contract->dims[i].is_flag && dims[i] != 0 && dims[i] != 1) return false;
  return true;
}

bool contract_operands_fit(const KernelContract *contract, const uint32_t *dtypes, uint32_t count) {
  uint32_t all = (uint32_t)contract->operand_count, least = all;
  bool has_codes = false;
  while (least > 0 && contract->operands[least - 1].may_be_absent)
    least--;
  if (count != all && count != least) return false;
  if (least == all || contract->row->role != ROLE_UPDATE) return true;
  for (uint32_t i = 0; i < least; i++)
    has_codes = has_codes || dtypes[i] == DTYPE_U8;
  return has_codes == (count == all);
}

/* ---- sizes; -1 on overflow */

static int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

static int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

static int64_t product_of(const uint8_t *factors, uint32_t count, const int64_t *dims) {
  int64_t product = 1;
  for (uint32_t i = 0; i < count; i++)
    product = times(product, dims[factors[i]]);
  return product;
}

bool contract_view(const KernelContract *contract, int32_t operand, const int64_t *dims,
                   KernelView *view) {
  const KernelShape *shape = &contract->operands[operand].shape;
  if (shape->kind != SHAPE_VIEW) return false;
  *view = (KernelView){product_of(shape->rows, shape->rows_count, dims),
                       product_of(shape->inner, shape->inner_count, dims), dims[shape->stride]};
  return true;
}

/* From the first element of the first row to the last of the last. */
static int64_t view_elements(const KernelView *view) {
  if (view->rows == 0 || view->inner == 0) return 0;
  return view->rows < 0 ? -1 : plus(times(view->rows - 1, view->stride), view->inner);
}

static int64_t broadcast_elements(KernelShapeKind kind, const int64_t *dims) {
  int64_t k = dims[0], product = 1, span = 1;
  for (int64_t i = 0; i < k; i++) {
    int64_t size = dims[1 + i], stride = dims[1 + k + i];
    if (kind != SHAPE_KEPT || stride != 0) product = times(product, size);
    if (size > 0) span = plus(span, times(size - 1, stride));
  }
  return kind == SHAPE_SPAN ? span : product;
}

static int64_t piece_elements(const int64_t *dims) {
  int64_t share = 0;
  for (int64_t i = 0; i < dims[1]; i++)
    share = plus(share, times(dims[2 + 2 * i], dims[3 + 2 * i]));
  return times(share, dims[0]);
}

int64_t contract_elements(const KernelContract *contract, int32_t operand, const int64_t *dims) {
  const KernelShape *shape = &contract->operands[operand].shape;
  KernelView view;
  if (contract_view(contract, operand, dims, &view)) return view_elements(&view);
  if (shape->kind == SHAPE_PIECES) return piece_elements(dims);
  if (shape->kind != SHAPE_DENSE) return broadcast_elements(shape->kind, dims);
  return times(product_of(shape->rows, shape->rows_count, dims), shape->times);
}

/* ---- dtypes */

bool contract_dtype_fits(const KernelContract *contract, int32_t operand, const uint32_t *dtypes) {
  uint32_t wanted = contract->operands[operand].dtype, dtype = dtypes[operand];
  if (wanted < DTYPE_COUNT) return dtype == wanted;
  if (wanted == KERNEL_DTYPE_ANY) return dtype < DTYPE_COUNT;
  if (wanted == KERNEL_DTYPE_FP8) return dtype_is_fp8(dtype);
  if (wanted == KERNEL_DTYPE_MOMENT)
    return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_U8;
  if (wanted == KERNEL_DTYPE_SHARED)
    for (int32_t i = 0; i < operand; i++)
      if (contract->operands[i].dtype == KERNEL_DTYPE_SHARED && dtypes[i] != dtype) return false;
  return dtype_is_float((DType)dtype);
}

int64_t contract_workspace_bytes(const KernelContract *contract, const WorkspaceUse *use) {
  WorkspaceBytes *workspace = contract->row->workspace;
  return workspace == NULL ? 0 : workspace(use);
}
