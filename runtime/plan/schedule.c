/* schedule.c -- the learning rate: warm-up, then one of the schedules. */
#include "runtime/plan/schedule.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* left(p). A plan has one shape of decay for each schedule; wsd chooses among three. */
static double left_of(const PlanJob *job, double progress) {
  bool is_wsd = job->schedule == SCHEDULE_WSD;
  if (job->schedule == SCHEDULE_COSINE || (is_wsd && job->decay_shape == DECAY_COSINE))
    return 0.5 * (1.0 + cos(pi * progress));
  if (is_wsd && job->decay_shape == DECAY_SQRT) return 1.0 - sqrt(progress);
  if (job->schedule == SCHEDULE_POLYNOMIAL) return pow(1.0 - progress, job->lr_power);
  return 1.0 - progress;
}

double schedule_lr(const PlanJob *job, int64_t step) {
  int64_t peak = job->warmup_steps > 1 ? job->warmup_steps : 1;
  if (step < peak && job->warmup_steps > 0) {
    double risen = (double)step / (double)job->warmup_steps;
    return job->lr * (job->lr_warmup_floor + (1.0 - job->lr_warmup_floor) * risen);
  }
  if (job->schedule == SCHEDULE_CONSTANT) return job->lr;
  if (job->schedule == SCHEDULE_INVERSE_SQRT) return job->lr * sqrt((double)peak / (double)step);
  double progress = 1.0;
  if (step <= job->decay_steps) {
    int64_t length =
        job->schedule == SCHEDULE_WSD ? job->decay_length : job->decay_steps - peak + 1;
    int64_t past = length - 1 - (job->decay_steps - step);
    if (past < 0) return job->lr;
    progress = (double)past / (double)length;
  }
  return job->lr * (job->lr_floor + (1.0 - job->lr_floor) * left_of(job, progress));
}
