/* breakdown.h -- the time of kernels by kind, on the stage whose step takes longest. */
#ifndef LOCKSTEP_COST_BREAKDOWN_H
#define LOCKSTEP_COST_BREAKDOWN_H

#include "compiler/base/base.h"
#include "runtime/plan/plan.h"

typedef enum ComputeKind {
  COMPUTE_PRODUCTS,
  COMPUTE_ATTENTION,
  COMPUTE_LOSS,
  COMPUTE_OPTIMIZER, /* updates and the gradient norm */
  COMPUTE_OTHER,     /* bound by memory: norms, activations, additions, copies */
  COMPUTE_KINDS
} ComputeKind;

typedef struct CostBreakdown {
  double seconds[COMPUTE_KINDS]; /* of the main lane */
  double flops;                  /* of all ranks' kernels in a step, recomputation counted */
} CostBreakdown;

/* The class whose train step takes longest; PLAN_NONE: no time is predicted. */
uint32_t longest_class(const Plan *plan);
CostBreakdown breakdown_of(Arena *arena, const Plan *plan);

#endif
