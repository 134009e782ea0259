/* schedule.h -- the learning rate of a step. */
#ifndef LOCKSTEP_SCHEDULE_H
#define LOCKSTEP_SCHEDULE_H

#include "runtime/plan/plan.h"

/* `step` s is 1 in the first step. With W = warmup_steps, D = decay_steps and P = max(W, 1), the
 * step that trains at lr:
 *
 *   s < P             lr (w + (1 - w) s / W)         w = lr_warmup_floor
 *   P <= s <= D - L   lr                             L = decay_length of wsd, D - P + 1 of others
 *   D - L < s <= D    lr (f + (1 - f) left(p))       f = lr_floor, p = 1 - (D + 1 - s) / L
 *   s > D             lr f
 *
 * left(p) is 1 - p for linear, (1 + cos(pi p)) / 2 for cosine, (1 - p)^lr_power for polynomial, and
 * one of 1 - p, (1 + cos(pi p)) / 2, 1 - sqrt(p) for wsd. From step P on constant stays at lr, and
 * inverse_sqrt is lr sqrt(P / s). Step D is above the floor, so the last step of a run still
 * trains: step D + 1 would reach the floor. Without warm-up these are PyTorch's
 * CosineAnnealingLR(T_max = D) and LinearLR. With warm-up they are Hugging Face's of D + 1 steps
 * without their first one, whose rate is 0. */
double schedule_lr(const Plan *plan, int64_t step);

#endif
