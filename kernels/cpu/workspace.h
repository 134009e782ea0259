/* workspace.h -- what the fast kernels' `work` operands need, in bytes. compiler/ops states the
 * same formulas; a kernel that is given less uses smaller blocks, or the reference. */
#ifndef LOCKSTEP_KERNELS_CPU_WORKSPACE_H
#define LOCKSTEP_KERNELS_CPU_WORKSPACE_H

#include <stdint.h>

enum {
  /* linear, linear_bias, linear_dx, linear_dw: packed panels of both factors and, where a bf16
   * result sums over more than one block of k, the partial sums. The same for every shape. */
  WORK_GEMM = 16 << 20,
  WORK_GEMM_LEAST = 1 << 20, /* less, and the reference runs */

  /* layernorm_backward, rmsnorm_backward: column sums of 32 blocks of rows. */
  WORK_NORM_BLOCKS = 32,
  WORK_NORM_COLUMNS = 256, /* added up by one task */

  /* attention, attention_backward: every thread's blocks. Heads up to 128 wide. */
  WORK_ATTENTION_THREAD = 1 << 20
};

/* vectors: 2 for layernorm (d_weight, d_bias), 1 for rmsnorm. */
static inline int64_t work_norm_backward(int64_t vectors, int64_t width) {
  return WORK_NORM_BLOCKS * vectors * ((width + 15) / 16 * 16) * 4;
}

static inline int64_t work_attention(int64_t threads) {
  return threads * WORK_ATTENTION_THREAD;
}

/* d_q and the row terms of one group of heads are summed over blocks of keys. */
static inline int64_t work_attention_backward(int64_t threads, int64_t group, int64_t seq,
                                              int64_t head) {
  int64_t padded = (head + 15) / 16 * 16;
  return threads * (WORK_ATTENTION_THREAD + 4 * group * (seq + 48) * (padded + 1));
}

#endif
