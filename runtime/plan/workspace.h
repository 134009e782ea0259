/* workspace.h -- bytes of the scratch operand of a kernel: `work` of kernels.def.
 *
 * Said once: compiler/ops and the schedule give as much, the proof asks for as much, and the
 * kernels count on it. A kernel that is given less uses smaller blocks, or the reference: it rounds
 * otherwise. */
#ifndef LOCKSTEP_WORKSPACE_H
#define LOCKSTEP_WORKSPACE_H

#include <stdint.h>

enum {
  /* linear, linear_bias, linear_dx, linear_dw: packed panels of both factors and, where a bf16
   * result sums over more than one block of k, the partial sums. The same for every shape. */
  WORK_GEMM = 16 << 20,

  /* layernorm_backward, rmsnorm_backward: column sums of 32 blocks of rows. */
  WORK_NORM_BLOCKS = 32,

  /* attention, attention_backward: every thread's blocks. Heads up to 128 wide. */
  WORK_ATTENTION_THREAD = 1 << 20,

  /* mse, square_sum: an f64 for every block of elements. */
  WORK_SUM_BLOCK = 4096
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

/* cross_entropy and its kin: an f64 for every row. */
static inline int64_t work_rows(int64_t rows) {
  return 8 * rows;
}

static inline int64_t work_sum(int64_t elements) {
  return 8 * (1 + elements / WORK_SUM_BLOCK);
}

#endif
