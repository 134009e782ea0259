/* limits.h -- how much one kernel call may carry: what a plan's records may say and kernels take.
 */
#ifndef LOCKSTEP_PLAN_LIMITS_H
#define LOCKSTEP_PLAN_LIMITS_H

enum { KERNEL_OPERANDS_MAX = 12, KERNEL_DIMS_MAX = 20, KERNEL_ATTRS_MAX = 4 };

#endif
