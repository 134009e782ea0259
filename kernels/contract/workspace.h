/* workspace.h -- bytes of the scratch operand of a kernel: `.workspace` of kernels.def.
 *
 * The compiler gives as much, the proof asks for as much, and the kernels count on it: a kernel
 * that is given less uses smaller blocks, or the reference, and rounds otherwise. */
#ifndef LOCKSTEP_KERNELS_WORKSPACE_H
#define LOCKSTEP_KERNELS_WORKSPACE_H

#include <stdint.h>

/* Processors with kernels of their own. */
typedef enum KernelTarget {
  KERNEL_TARGET_CPU,
  KERNEL_TARGET_CUDA,
  KERNEL_TARGET_COUNT
} KernelTarget;

enum {
  /* linear, linear_bias, linear_dx, linear_dw: packed panels of both factors and, where a bf16
   * result sums over more than one block of k, the partial sums. The same for every shape. */
  WORK_GEMM = 16 << 20,
  /* The same on a GPU: what cublasLt is given as the most that an algorithm may use. NVIDIA
   * recommends 32 MiB on Hopper (cuBLAS documentation, cublasSetWorkspace). */
  WORK_GEMM_CUDA = 32 << 20,

  /* layernorm_backward, rmsnorm_backward: column sums of 32 blocks of rows. */
  WORK_NORM_BLOCKS = 32,

  /* attention, attention_backward: every thread's blocks. Heads up to 128 wide. */
  WORK_ATTENTION_THREAD = 1 << 20,
  /* What cuDNN's attention asks for besides the arrays below, on sm_90. */
  WORK_ATTENTION_CUDA = 256,

  /* mse, square_sum: an f64 for every block of elements. */
  WORK_SUM_BLOCK = 4096
};

/* One function for each way to need scratch. A kernel that runs on another processor than the plan
 * was made for takes what it is given: see above. `dims` are the record's, `threads` the rank's. */
typedef int64_t WorkspaceBytes(KernelTarget target, const int64_t *dims, int64_t threads);

WorkspaceBytes workspace_gemm, workspace_layernorm_backward, workspace_rmsnorm_backward,
    workspace_attention, workspace_attention_backward, workspace_rows, workspace_sum;

#endif
