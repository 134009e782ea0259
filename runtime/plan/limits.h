/* limits.h -- how much one kernel call may carry, in a plan and in a kernel. */
#ifndef LOCKSTEP_PLAN_LIMITS_H
#define LOCKSTEP_PLAN_LIMITS_H

enum { KERNEL_OPERANDS_MAX = 12, KERNEL_DIMS_MAX = 64, KERNEL_ATTRS_MAX = 12 };

#endif
