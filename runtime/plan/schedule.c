/* schedule.c -- constant, linear and cosine, all with warm-up. */
#include "runtime/plan/schedule.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

double schedule_lr(const PlanJob *job, int64_t step) {
  int64_t peak = job->warmup_steps > 1 ? job->warmup_steps : 1;
  if (step < peak && job->warmup_steps > 0) {
    double risen = (double)step / (double)job->warmup_steps;
    return job->lr * (job->lr_warmup_floor + (1.0 - job->lr_warmup_floor) * risen);
  }
  if (job->schedule == SCHEDULE_CONSTANT) return job->lr;
  double progress = 1.0;
  if (step <= job->decay_steps)
    progress = (double)(step - peak) / (double)(job->decay_steps - peak + 1);
  double left =
      job->schedule == SCHEDULE_LINEAR ? 1.0 - progress : 0.5 * (1.0 + cos(pi * progress));
  return job->lr * (job->lr_floor + (1.0 - job->lr_floor) * left);
}
