#include "kernels/contract/workspace.h"

#include "kernels/contract/blocks.h"
#include "kernels/contract/cached.h"
#include "runtime/plan/dtype.h"

/* Operands 0 and 1 are the factors, `result` is their product. What a library takes does not depend
 * on the shape. */
static int64_t product(const WorkspaceUse *use, ProductShape shape, int32_t result) {
  if (use->target == KERNEL_TARGET_CUDA) return WORK_PRODUCT_CUDA;
  shape.factors_bf16 = use->dtypes[0] == DTYPE_BF16 && use->dtypes[1] == DTYPE_BF16;
  shape.narrow = dtype_bytes((DType)use->dtypes[result]) == 2;
  shape.converts = (use->tf32 && !shape.factors_bf16) || use->dtypes[0] == DTYPE_F16;
  return product_bytes(&shape);
}

int64_t workspace_linear(const WorkspaceUse *use) {
  const int64_t *dims = use->dims;
  return product(use, (ProductShape){dims[0], dims[2], dims[1], .rows_stand = true}, 2);
}

int64_t workspace_linear_bias(const WorkspaceUse *use) {
  const int64_t *dims = use->dims;
  return product(use, (ProductShape){dims[0], dims[2], dims[1], .rows_stand = true}, 3);
}

int64_t workspace_linear_dx(const WorkspaceUse *use) {
  const int64_t *dims = use->dims;
  return product(use, (ProductShape){dims[0], dims[1], dims[2], .rows_stand = true}, 2);
}

int64_t workspace_linear_dw(const WorkspaceUse *use) {
  int64_t rows = use->dims[0], in = use->dims[1], out = use->dims[2];
  bool transposed = use->dims[3] != 0;
  int64_t m = transposed ? in : out, n = transposed ? out : in;
  return product(use, (ProductShape){m, n, rows, .rows_stand = false}, 2);
}

/* On a GPU it holds the f32 sums of each part of the rows. Matrices that are read element by
 * element have narrower strips, hence no more parts. */
int64_t workspace_linear_db(const WorkspaceUse *use) {
  if (use->target != KERNEL_TARGET_CUDA) return 0;
  int64_t width = use->dims[1];
  int64_t strip = WORK_COLUMN_STRIP / dtype_bytes((DType)use->dtypes[0]);
  int64_t parts = column_parts(use->dims[0], (width + strip - 1) / strip);
  return parts > 1 ? parts * width * 4 : 0;
}

/* On a GPU there are as many blocks of rows as allowed, and at most as many as rows. `riders`: sums
 * of other rows that a fused record makes in the same pass. */
static int64_t norm_backward(const WorkspaceUse *use, int64_t vectors, int64_t riders) {
  int64_t rows = use->dims[0], width = use->dims[1];
  if (use->target != KERNEL_TARGET_CUDA) return norm_work_bytes(rows, width, vectors);
  int64_t blocks = rows < WORK_NORM_BLOCKS_CUDA ? rows : WORK_NORM_BLOCKS_CUDA;
  return blocks * (vectors + riders) * whole_sixteens(width) * 4;
}

int64_t workspace_layernorm_backward(const WorkspaceUse *use) {
  return norm_backward(use, 2, 1);
}

int64_t workspace_rmsnorm_backward(const WorkspaceUse *use) {
  return norm_backward(use, 1, 0);
}

/* Wider heads are left to the reference. */
int64_t workspace_attention(const WorkspaceUse *use) {
  if (use->target == KERNEL_TARGET_CUDA) return WORK_ATTENTION_CUDA;
  if (use->dims[4] > HEAD_MAX) return 0;
  ForwardBlocks blocks = forward_blocks(use->dims, use->dtypes[0] == DTYPE_BF16, use->threads);
  return blocks.threads * blocks.thread_bytes;
}

/* cuDNN sums d_q in fp32, on sm_80 in two arrays, keeps one term a row, and with grouped heads d_k
 * and d_v of every query head in bf16. Our own kernels keep the terms only. */
static int64_t attention_backward_cuda(const int64_t *dims) {
  int64_t rows = dims[0] * dims[1] * dims[2], head = dims[4];
  int64_t grouped = dims[2] == dims[3] ? 0 : 2 * rows * head * 2;
  return WORK_ATTENTION_CUDA + rows * 4 + 2 * rows * head * 4 + grouped;
}

int64_t workspace_attention_backward(const WorkspaceUse *use) {
  if (use->dims[3] == 0) return 0; /* heads of keys */
  if (use->target == KERNEL_TARGET_CUDA) return attention_backward_cuda(use->dims);
  if (use->dims[4] > HEAD_MAX) return 0;
  BackwardBlocks blocks = backward_blocks(use->dims, use->threads);
  return blocks.threads * blocks.thread_bytes;
}

/* On a GPU the softmax of each part of a head's positions, if there are several. */
int64_t workspace_attention_cached(const WorkspaceUse *use) {
  enum { NUMBERS = 2 }; /* beside the values: the highest score, the sum of the weights */
  const int64_t *dims = use->dims, parts = cached_parts(dims);
  if (use->target != KERNEL_TARGET_CUDA || parts == 1) return 0;
  return dims[0] * dims[1] * dims[2] * parts * (NUMBERS + dims[4]) * 4;
}

/* cross_entropy and its kin: an f64 for every row. */
int64_t workspace_rows(const WorkspaceUse *use) {
  return 8 * use->dims[0];
}

int64_t workspace_sum(const WorkspaceUse *use) {
  return 8 * (1 + use->dims[0] / WORK_SUM_BLOCK);
}

/* The highest magnitude of every block of elements. */
int64_t workspace_quantise(const WorkspaceUse *use) {
  return (use->dims[0] * use->dims[1] + WORK_SUM_BLOCK - 1) / WORK_SUM_BLOCK * 4;
}

/* Both factors as bf16, and their product's. On a GPU as codes, turned so that those of one sum lie
 * together, which is what its library multiplies. */
static int64_t decoded_product(const WorkspaceUse *use, ProductShape shape, int32_t result) {
  const int64_t a = shape.m * shape.k, b = shape.n * shape.k;
  if (use->target == KERNEL_TARGET_CUDA)
    return WORK_PRODUCT_CUDA + (a + 255) / 256 * 256 + (b + 255) / 256 * 256 +
           scales_bytes(use->dims[4], use->dims[5]) + scales_bytes(use->dims[6], use->dims[7]);
  shape.factors_bf16 = true;
  shape.narrow = dtype_bytes((DType)use->dtypes[result]) == 2;
  return decoded_bytes(a) + decoded_bytes(b) + product_bytes(&shape);
}

int64_t workspace_linear_fp8(const WorkspaceUse *use) {
  const int64_t *dims = use->dims;
  return decoded_product(use, (ProductShape){dims[0], dims[2], dims[1], .rows_stand = true}, 4);
}

int64_t workspace_linear_fp8_bias(const WorkspaceUse *use) {
  const int64_t *dims = use->dims;
  return decoded_product(use, (ProductShape){dims[0], dims[2], dims[1], .rows_stand = true}, 5);
}

int64_t workspace_linear_fp8_dx(const WorkspaceUse *use) {
  const int64_t *dims = use->dims;
  return decoded_product(use, (ProductShape){dims[0], dims[1], dims[2], .rows_stand = true}, 4);
}

int64_t workspace_linear_fp8_dw(const WorkspaceUse *use) {
  int64_t rows = use->dims[0], in = use->dims[1], out = use->dims[2];
  bool transposed = use->dims[3] != 0;
  int64_t m = transposed ? in : out, n = transposed ? out : in;
  return decoded_product(use, (ProductShape){m, n, rows, .rows_stand = false}, 4);
}
