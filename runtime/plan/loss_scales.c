#include "runtime/plan/loss_scales.h"

#include <stdio.h>

#include "runtime/plan/plan_job.h"

const char *loss_scale_setting(int32_t key, char name[LOSS_SCALE_NAME_BYTES]) {
  (void)snprintf(name, LOSS_SCALE_NAME_BYTES, "precision.loss_scale.%s", loss_scale_keys[key]);
  return name;
}

bool plan_loss_scale(const Plan *plan, LossScale *scale) {
  bool is_there = true;
  *scale = (LossScale){0};
  for (int32_t i = 0; i < LOSS_SCALE_NUMBERS; i++) {
    char name[LOSS_SCALE_NAME_BYTES];
    const PlanSetting *row = plan_setting(plan, loss_scale_setting(i, name));
    is_there = is_there && row != NULL && row->kind == SETTING_REAL;
    if (is_there) scale->number[i] = row->real;
  }
  return is_there;
}

void loss_scale_begin(const Plan *plan, Control *control) {
  LossScale scale;
  if (!plan_loss_scale(plan, &scale)) return;
  control->loss_scale = scale.number[LOSS_SCALE_OF_INIT];
  control->good_steps = -(int64_t)scale.number[LOSS_SCALE_OF_LATE];
  control->hysteresis_left = (int64_t)scale.number[LOSS_SCALE_OF_HYSTERESIS];
}

void loss_scale_resume(const Plan *plan, double init_before, Control *lasting) {
  LossScale scale;
  if (!plan_loss_scale(plan, &scale)) return;
  const double *number = scale.number;
  int64_t most_left = (int64_t)number[LOSS_SCALE_OF_HYSTERESIS];
  if (number[LOSS_SCALE_OF_INIT] != init_before || number[LOSS_SCALE_OF_WINDOW] == 0)
    loss_scale_begin(plan, lasting);
  if (lasting->loss_scale < number[LOSS_SCALE_OF_MIN])
    lasting->loss_scale = number[LOSS_SCALE_OF_MIN];
  if (lasting->hysteresis_left > most_left) lasting->hysteresis_left = most_left;
  if ((double)lasting->good_steps >= number[LOSS_SCALE_OF_WINDOW])
    lasting->good_steps = (int64_t)number[LOSS_SCALE_OF_WINDOW] - 1;
}
