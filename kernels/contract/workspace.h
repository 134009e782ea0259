/* workspace.h -- bytes of the scratch operand of a kernel: `.workspace` of kernels.def.
 *
 * The compiler gives this much, the proof demands it, and the kernels rely on it: the most that any
 * variant of the kernel touches for this shape. With less scratch the reference runs, which rounds
 * differently. */
#ifndef LOCKSTEP_KERNELS_WORKSPACE_H
#define LOCKSTEP_KERNELS_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

/* Processors for which this tree has kernels. */
typedef enum KernelTarget {
  KERNEL_TARGET_CPU,
  KERNEL_TARGET_CUDA,
  KERNEL_TARGET_COUNT
} KernelTarget;

enum {
  /* linear, linear_bias, linear_dx, linear_dw: the most that panels of both factors take
   * and, where a bf16 result sums over more than one block of k, the partial sums (blocks.h). */
  WORK_PRODUCT_MOST = 16 << 20,
  /* The same on a GPU: what cublasLt is given as the most that an algorithm may use. NVIDIA
   * recommends 32 MiB on Hopper (cuBLAS documentation, cublasSetWorkspace). */
  WORK_PRODUCT_CUDA = 32 << 20,

  /* layernorm_backward, rmsnorm_backward: column sums of 32 blocks of rows, at most. */
  WORK_NORM_BLOCKS = 32,
  /* The same on a GPU, of which each block runs on one multiprocessor: two for each of an H100's
   * 132, so that memory is busy while one block waits for its sums. */
  WORK_NORM_BLOCKS_CUDA = 264,

  /* linear_db on a GPU: the number of thread blocks is that which an H100's 132 multiprocessors run
   * at once. They divide the columns into strips, and the rows of each strip into parts, which have
   * no fewer rows than WORK_COLUMN_ROWS. */
  WORK_COLUMN_BLOCKS = 396,
  WORK_COLUMN_STRIP = 128, /* bytes of a row: a cache line of the GPU */
  WORK_COLUMN_ROWS = 128,

  /* cuDNN's attention asks for this besides its arrays (workspace.c), on sm_90; less on sm_80. */
  WORK_ATTENTION_CUDA = 256,

  /* mse, square_sum: an f64 for every block of elements. */
  WORK_SUM_BLOCK = 4096
};

/* The inputs of a record's scratch size. */
typedef struct WorkspaceUse {
  KernelTarget target; /* the target of the plan */
  const int64_t *dims;
  const uint32_t *dtypes; /* of its operands; that of the scratch is not read */
  int64_t threads;        /* of the rank */
  bool tf32;              /* its products round their inputs */
} WorkspaceUse;

/* One function for each formula of scratch. A kernel that runs on another processor than the plan
 * was made for uses what it gets: see above. */
typedef int64_t WorkspaceBytes(const WorkspaceUse *use);

WorkspaceBytes workspace_linear, workspace_linear_bias, workspace_linear_dx, workspace_linear_dw,
    workspace_linear_db, workspace_layernorm_backward, workspace_rmsnorm_backward,
    workspace_attention, workspace_attention_backward, workspace_attention_cached, workspace_rows,
    workspace_sum, workspace_quantise, workspace_linear_fp8, workspace_linear_fp8_bias,
    workspace_linear_fp8_dx, workspace_linear_fp8_dw;

/* The number of parts into which the rows of each strip of columns are divided (columns.h). */
static inline int64_t column_parts(int64_t rows, int64_t strips) {
  int64_t most = (rows + WORK_COLUMN_ROWS - 1) / WORK_COLUMN_ROWS;
  int64_t parts = strips > 0 ? WORK_COLUMN_BLOCKS / strips : 1;
  if (parts > most) parts = most;
  return parts > 1 ? parts : 1;
}

/* On a GPU, scales of blocks in the order of its library: rows of whole fours. None of a matrix
 * that has one scale. */
static inline int64_t scales_bytes(int64_t down, int64_t across) {
  return down * across == 1 ? 0 : (4 * (down + 3) * (across + 3) + 255) / 256 * 256;
}

#endif
