/* interval.h -- how often a run that may fail should save.
 *
 * A save stops the ranks for C seconds and is durable W seconds after it began; failures come every
 * M seconds; a restart takes R. With an interval t the lost share of the time is
 *
 *   C / t  +  (t / 2 + W + R) / M
 *
 * which is least at t = sqrt(2 C M) (Young 1974). One save is in flight, so t is at least W. */
#ifndef LOCKSTEP_PLAN_INTERVAL_H
#define LOCKSTEP_PLAN_INTERVAL_H

#include <math.h>

static inline double interval_best_s(double stall_s, double write_s, double failure_s) {
  return fmax(write_s, sqrt(2 * stall_s * failure_s));
}

static inline double interval_lost(double every_s, double stall_s, double write_s, double restart_s,
                                   double failure_s) {
  return stall_s / every_s + (every_s / 2 + write_s + restart_s) / failure_s;
}

#endif
