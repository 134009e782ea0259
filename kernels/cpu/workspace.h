/* workspace.h -- what the fast kernels' `work` operands need, in bytes. compiler/ops states the
 * same formulas; a kernel that is given less uses smaller blocks, or the reference. */
#ifndef LOCKSTEP_KERNELS_CPU_WORKSPACE_H
#define LOCKSTEP_KERNELS_CPU_WORKSPACE_H

#include <stdint.h>

/* linear, linear_bias, linear_dx, linear_dw: packed panels of both factors and, where a bf16 result
 * sums over more than one block of k, the partial sums. The same for every shape. */
enum { WORK_GEMM = 16 << 20 };

/* The smallest a GEMM can live with. */
enum { WORK_GEMM_LEAST = 1 << 20 };

#endif
