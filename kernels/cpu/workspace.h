/* workspace.h -- what the fast kernels make of their `work` operands, beside what all know of them:
 * kernels/contract/workspace.h. */
#ifndef LOCKSTEP_KERNELS_CPU_WORKSPACE_H
#define LOCKSTEP_KERNELS_CPU_WORKSPACE_H

#include "kernels/contract/workspace.h"

enum {
  WORK_GEMM_LEAST = 1 << 20, /* less, and the reference runs */
  WORK_NORM_COLUMNS = 256    /* of a norm's backward, added up by one task */
};

#endif
