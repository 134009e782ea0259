/* schedule.c -- the learning rate: warm-up, then one of the schedules. */
#include "runtime/plan/schedule.h"

#include <math.h>

#include "runtime/plan/plan_job.h"

static const double pi = 3.14159265358979323846;

/* left(p). A plan has one shape of decay for each schedule; wsd chooses among three. */
static double left_of(const Plan *plan, double progress) {
  bool is_wsd = job_schedule(plan) == SCHEDULE_WSD;
  if (job_schedule(plan) == SCHEDULE_COSINE || (is_wsd && job_decay_shape(plan) == DECAY_COSINE))
    return 0.5 * (1.0 + cos(pi * progress));
  if (is_wsd && job_decay_shape(plan) == DECAY_SQRT) return 1.0 - sqrt(progress);
  if (job_schedule(plan) == SCHEDULE_POLYNOMIAL) return pow(1.0 - progress, job_lr_power(plan));
  return 1.0 - progress;
}

double schedule_lr(const Plan *plan, int64_t step) {
  int64_t peak = job_warmup_steps(plan) > 1 ? job_warmup_steps(plan) : 1;
  if (step < peak && job_warmup_steps(plan) > 0) {
    double risen = (double)step / (double)job_warmup_steps(plan);
    return job_lr(plan) * (job_lr_warmup_floor(plan) + (1.0 - job_lr_warmup_floor(plan)) * risen);
  }
  if (job_schedule(plan) == SCHEDULE_CONSTANT) return job_lr(plan);
  if (job_schedule(plan) == SCHEDULE_INVERSE_SQRT)
    return job_lr(plan) * sqrt((double)peak / (double)step);
  double progress = 1.0;
  if (step <= job_decay_steps(plan)) {
    int64_t length = job_schedule(plan) == SCHEDULE_WSD ? job_decay_length(plan)
                                                        : job_decay_steps(plan) - peak + 1;
    int64_t past = length - 1 - (job_decay_steps(plan) - step);
    if (past < 0) return job_lr(plan);
    progress = (double)past / (double)length;
  }
  return job_lr(plan) * (job_lr_floor(plan) + (1.0 - job_lr_floor(plan)) * left_of(plan, progress));
}
