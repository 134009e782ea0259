/* fusions.h -- the rows of fusions.def: which kernels may be fused. */
#ifndef LOCKSTEP_KERNELS_FUSIONS_H
#define LOCKSTEP_KERNELS_FUSIONS_H

#include "kernels/contract/contract.h"

typedef struct KernelFusion {
  KernelId first, second;
  int32_t first_operand, second_operand; /* these two operands share memory */
  uint32_t targets;                      /* bit of each KernelTarget whose plans say so */
  bool over; /* the second writes over the operand where it can: fusions.def, OVER */
} KernelFusion;

/* The rows, of which there are *count, in the order of fusions.def. A row with a name that
 * kernels.def does not have ends the program. */
const KernelFusion *contract_fusions(int32_t *count);

/* The first row of the two, or NULL. All rows of two kernels have the same targets,
 * and the same `over`. */
const KernelFusion *contract_fusion(KernelId first, KernelId second);

typedef struct KernelRider {
  KernelId rider, first, second;
  int32_t operand; /* of the rider */
  uint32_t targets;
} KernelRider;

/* The rows, as of contract_fusions. */
const KernelRider *contract_riders(int32_t *count);

/* The row by which the kernel rides with these two in plans for the target, or NULL. */
const KernelRider *contract_rider(KernelId rider, KernelId first, KernelId second,
                                  KernelTarget target);

/* True if plans for the target may fuse two records, of which the second runs right after the
 * first: a pair, its first and a rider, or a rider and its second. */
bool contract_may_meet(KernelId first, KernelId second, KernelTarget target);

/* True if plans for the target allow to fuse these two. */
bool contract_may_fuse(KernelId first, KernelId second, KernelTarget target);

#endif
