/* limits.h -- limits of what a plan may hold. */
#ifndef LOCKSTEP_PLAN_LIMITS_H
#define LOCKSTEP_PLAN_LIMITS_H

/* Most operands, dims and attributes of one kernel call, in a plan and in a kernel. */
/* Elements that share a maximum, where moments are in codes: kernels/math/codes.h. */
enum { CODES_BLOCK = 256 };

enum { KERNEL_OPERANDS_MAX = 12, KERNEL_DIMS_MAX = 64, KERNEL_ATTRS_MAX = 16 };

/* Most records that are fused into one call of a kernel, and operands of them all. */
enum { FUSED_MOST = 3, FUSED_OPERANDS_MAX = 16 };

/* How often one layer of a model may use a parameter. */
enum { PARAMETER_USES_MAX = 64 };

/* Sources of a mix; the largest of their weights is at most this many times the smallest. */
enum { PLAN_SOURCES_MAX = 1024 };
#define PLAN_WEIGHT_RANGE 1e9

#endif
