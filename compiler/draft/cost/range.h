/* range.h -- how far a measured step may be from the expected one: 8 of 10 runs are within.
 *
 * The quantiles 0.1 and 0.9 of measured over expected times in the published tables of
 * bench/published, each table predicted with what the others say (docs/measurements/expected.md);
 * with rates measured on the machine itself, the same quantiles of steps on that machine. */
#ifndef LOCKSTEP_COST_RANGE_H
#define LOCKSTEP_COST_RANGE_H

#include "compiler/job/job.h"

typedef struct TimeRange {
  double low, high; /* factors of the expected time */
} TimeRange;

static inline TimeRange time_range(const Cluster *cluster) {
  return cluster->measured.is_taken ? (TimeRange){0.93, 1.08} : (TimeRange){0.88, 1.13};
}

#endif
