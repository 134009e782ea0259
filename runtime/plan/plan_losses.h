/* plan_losses.h -- the losses of a plan's model: training minimises the sum of their means, each
 * times its weight. */
#ifndef LOCKSTEP_PLAN_LOSSES_H
#define LOCKSTEP_PLAN_LOSSES_H

#include "runtime/plan/control.h"
#include "runtime/plan/plan.h"

/* The last attrs of every loss's node: 1 where the model gives a weight, and the weight; else both
 * are 0, and the weight is 1. */
enum { LOSS_ATTR_WEIGHTED = 4, LOSS_ATTR_WEIGHT = 5 };

/* The path of a loss that the model names begins so. */
#define PLAN_LOSS_PREFIX "loss."

typedef struct PlanLoss {
  const char *name, *op;
  double weight;
  uint32_t node;
  uint32_t input; /* the number of the input that it compares with; PLAN_NONE: that is computed */
} PlanLoss;

typedef struct PlanLosses {
  int32_t count;
  PlanLoss at[LOSSES_MAX];
} PlanLosses;

/* In the order of their nodes, which is that of their slots; more than LOSSES_MAX are left out. A
 * plan that states no model has one loss. */
PlanLosses plan_losses(const Plan *plan);

/* The number of the loss that the node makes; -1: it makes none. */
int32_t plan_loss_of(const PlanLosses *losses, uint32_t node);

/* The slot that the record has where its kernel's row has `slot`: of several losses each has its
 * own divisor. */
ControlSlot plan_loss_slot(const PlanLosses *losses, const PlanRecord *record, ControlSlot slot);

bool plan_makes_loss(const Plan *plan, const PlanNode *node);

/* The weight that a node states. */
double plan_loss_weight(const Plan *plan, const PlanNode *node);

/* True if the model has more than a loss of weight 1: then each is reported by its name, too. */
bool losses_are_told(const PlanLosses *losses);

/* By loss: the sum over its targets, and their number. */
typedef struct LossSums {
  double sum[LOSSES_MAX], count[LOSSES_MAX];
} LossSums;

void loss_sums_add(LossSums *sums, const Control *control, int32_t count);
void loss_sums_divide(LossSums *sums, double by);

/* The targets of the loss with most of them. */
double loss_sums_most(const LossSums *sums);

/* By loss: how many of its targets count. */
typedef struct LossTargets {
  int64_t of[LOSSES_MAX];
} LossTargets;

/* Sets the divisors of `count` losses, and the number of all their targets. */
void loss_targets_set(Control *in, const LossTargets *targets, int32_t count);

/* True if each sum is a finite number. */
bool losses_are_finite(const Control *control);

/* NAN: no target of it counts. */
double loss_mean(const LossSums *sums, int32_t number);

/* The sum of all means, each times its weight; one without targets is 0. NAN: none has targets. */
double loss_total(const PlanLosses *losses, const LossSums *sums);

#endif
