#include "kernels/contract/workspace.h"

int64_t workspace_gemm(KernelTarget target, const int64_t *dims, int64_t threads) {
  (void)dims, (void)threads;
  return target == KERNEL_TARGET_CUDA ? WORK_GEMM_CUDA : WORK_GEMM;
}

/* `vectors` gradients of weights: column sums, in rows of whole vectors. */
static int64_t norm_backward(int64_t vectors, int64_t width) {
  return WORK_NORM_BLOCKS * vectors * ((width + 15) / 16 * 16) * 4;
}

int64_t workspace_layernorm_backward(KernelTarget target, const int64_t *dims, int64_t threads) {
  (void)target, (void)threads;
  return norm_backward(2, dims[1]);
}

int64_t workspace_rmsnorm_backward(KernelTarget target, const int64_t *dims, int64_t threads) {
  (void)target, (void)threads;
  return norm_backward(1, dims[1]);
}

int64_t workspace_attention(KernelTarget target, const int64_t *dims, int64_t threads) {
  (void)dims;
  return target == KERNEL_TARGET_CUDA ? WORK_ATTENTION_CUDA : threads * WORK_ATTENTION_THREAD;
}

/* cuDNN sums d_q in fp32, keeps one term a row, and with grouped heads d_k and d_v of every query
 * head in bf16. */
static int64_t attention_backward_cuda(const int64_t *dims) {
  int64_t rows = dims[0] * dims[1] * dims[2], head = dims[4];
  int64_t grouped = dims[2] == dims[3] ? 0 : 2 * rows * head * 2;
  return WORK_ATTENTION_CUDA + rows * 4 + rows * head * 4 + grouped;
}

/* d_q and the row terms of one group of heads are summed over blocks of keys. */
int64_t workspace_attention_backward(KernelTarget target, const int64_t *dims, int64_t threads) {
  int64_t seq = dims[1], heads = dims[2], kv_heads = dims[3], head = dims[4];
  if (kv_heads == 0) return 0;
  if (target == KERNEL_TARGET_CUDA) return attention_backward_cuda(dims);
  int64_t group = heads / kv_heads, padded = (head + 15) / 16 * 16;
  return threads * (WORK_ATTENTION_THREAD + 4 * group * (seq + 48) * (padded + 1));
}

/* cross_entropy and its kin: an f64 for every row. */
int64_t workspace_rows(KernelTarget target, const int64_t *dims, int64_t threads) {
  (void)target, (void)threads;
  return 8 * dims[0];
}

int64_t workspace_sum(KernelTarget target, const int64_t *dims, int64_t threads) {
  (void)target, (void)threads;
  return 8 * (1 + dims[0] / WORK_SUM_BLOCK);
}
