#include "runtime/plan/plan_losses.h"

#include <math.h>
#include <string.h>

#include "runtime/plan/plan_purpose.h"

double plan_loss_weight(const Plan *plan, const PlanNode *node) {
  const double *attrs = plan->reals + node->attrs_first;
  if (node->attrs_count <= LOSS_ATTR_WEIGHTED || attrs[LOSS_ATTR_WEIGHTED] == 0) return 1;
  return node->attrs_count > LOSS_ATTR_WEIGHT ? attrs[LOSS_ATTR_WEIGHT] : 0;
}

bool plan_makes_loss(const Plan *plan, const PlanNode *node) {
  return node->outputs_count > 0 &&
         plan->values[plan->uses[node->outputs_first].value].kind == VALUE_LOSS;
}

static const char *name_of(const char *path) {
  const size_t prefix = sizeof PLAN_LOSS_PREFIX - 1;
  return strncmp(path, PLAN_LOSS_PREFIX, prefix) == 0 ? path + prefix : path;
}

static uint32_t input_of(const Plan *plan, const PlanNode *node) {
  if (node->inputs_count < 2) return PLAN_NONE;
  const PlanValue *value = &plan->values[plan->uses[node->inputs_first + 1].value];
  for (uint32_t i = 0; value->kind == VALUE_INPUT && i < plan->inputs_count; i++)
    if (strcmp(plan_string(plan, plan->inputs[i].name), plan_string(plan, value->name)) == 0)
      return i;
  return PLAN_NONE;
}

static void add_losses(const Plan *plan, const PlanRegion *region, PlanLosses *losses) {
  for (uint32_t n = region->forward_first; n < region->forward_first + region->forward_count; n++) {
    const PlanNode *node = &plan->nodes[n];
    if (!plan_makes_loss(plan, node) || losses->count == LOSSES_MAX) continue;
    losses->at[losses->count++] = (PlanLoss){.name = name_of(plan_string(plan, node->path)),
                                             .op = plan_string(plan, node->op),
                                             .weight = plan_loss_weight(plan, node),
                                             .node = n,
                                             .input = input_of(plan, node)};
  }
}

PlanLosses plan_losses(const Plan *plan) {
  PlanLosses losses = {0};
  for (uint32_t r = 0; r < plan->regions_count; r++)
    if (plan_is_main(plan, &plan->regions[r])) add_losses(plan, &plan->regions[r], &losses);
  if (losses.count == 0)
    losses = (PlanLosses){
        1, {{.name = "loss", .op = "", .weight = 1, .node = PLAN_NONE, .input = PLAN_NONE}}};
  return losses;
}

int32_t plan_loss_of(const PlanLosses *losses, uint32_t node) {
  for (int32_t i = 0; i < losses->count; i++)
    if (losses->at[i].node == node) return i;
  return -1;
}

ControlSlot plan_loss_slot(const PlanLosses *losses, const PlanRecord *record, ControlSlot slot) {
  const int32_t loss = losses->count > 1 ? plan_loss_of(losses, record->node) : -1;
  return slot == CONTROL_targets && loss >= 0 ? control_divisor(loss, losses->count) : slot;
}

bool losses_are_told(const PlanLosses *losses) {
  return losses->count > 1 || losses->at[0].weight != 1;
}

void loss_sums_add(LossSums *sums, const Control *control, int32_t count) {
  Control values = *control;
  for (int32_t i = 0; i < count; i++) {
    const double *pair = control_value(&values, control_loss(i));
    sums->sum[i] += pair[0];
    sums->count[i] += pair[1];
  }
}

bool losses_are_finite(const Control *control) {
  LossSums sums = {0};
  bool are_finite = true;
  loss_sums_add(&sums, control, LOSSES_MAX);
  for (int32_t i = 0; i < LOSSES_MAX; i++)
    are_finite = are_finite && isfinite(sums.sum[i]);
  return are_finite;
}

void loss_sums_divide(LossSums *sums, double by) {
  for (int32_t i = 0; i < LOSSES_MAX; i++) {
    sums->sum[i] /= by;
    sums->count[i] /= by;
  }
}

double loss_sums_most(const LossSums *sums) {
  double most = 0;
  for (int32_t i = 0; i < LOSSES_MAX; i++)
    most = fmax(most, sums->count[i]);
  return most;
}

void loss_targets_set(Control *in, const LossTargets *targets, int32_t count) {
  in->targets = 0;
  for (int32_t i = 0; i < count; i++)
    in->targets += (double)targets->of[i];
  for (int32_t i = 0; i < count && count > 1; i++)
    *(double *)control_value(in, control_divisor(i, count)) = (double)targets->of[i];
}

double loss_mean(const LossSums *sums, int32_t number) {
  return sums->count[number] > 0 ? sums->sum[number] / sums->count[number] : NAN;
}

double loss_total(const PlanLosses *losses, const LossSums *sums) {
  double total = 0;
  bool has_targets = false;
  for (int32_t i = 0; i < losses->count; i++) {
    if (sums->count[i] <= 0) continue;
    has_targets = true;
    total += losses->at[i].weight * loss_mean(sums, i);
  }
  return has_targets ? total : NAN;
}
