/* schedule.h -- the learning rate of a step. */
#ifndef LOCKSTEP_SCHEDULE_H
#define LOCKSTEP_SCHEDULE_H

#include "runtime/plan/plan.h"

/* `step` is 1 in the first step. Warm-up reaches lr in step warmup_steps, rising linearly from
 * lr_warmup_floor * lr at step 0; decay reaches lr_floor * lr in step decay_steps (counted from the
 * start of the run) and stays there. */
double schedule_lr(const PlanJob *job, int64_t step);

#endif
