/* joins.h -- the rows of joins.def: which kernels may run as one. */
#ifndef LOCKSTEP_KERNELS_JOINS_H
#define LOCKSTEP_KERNELS_JOINS_H

#include "kernels/contract/contract.h"

typedef struct KernelJoin {
  KernelId first, second;
  int32_t first_operand, second_operand; /* which are the same memory */
  uint32_t targets;                      /* bit of each KernelTarget whose plans say so */
} KernelJoin;

/* The rows, of which there are *count, in the order of joins.def. A row with a name that
 * kernels.def does not have ends the program. */
const KernelJoin *contract_joins(int32_t *count);

/* The first row of the two, or NULL. All rows of two kernels have the same targets. */
const KernelJoin *contract_join(KernelId first, KernelId second);

/* Whether plans for the target let these two run as one. */
bool contract_may_join(KernelId first, KernelId second, KernelTarget target);

#endif
