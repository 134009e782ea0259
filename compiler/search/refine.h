/* refine.h -- forecasts of the candidates of a key, as far as they may be the best. */
#ifndef LOCKSTEP_REFINE_H
#define LOCKSTEP_REFINE_H

#include "compiler/search/bounds.h"
#include "compiler/search/estimate.h"
#include "compiler/search/flow.h"

/* A forecast is this much too long at most, as a share of it, in all but few of the jobs that tests
 * draw; half as much too short. */
#define FORECAST_MARGIN 0.02

typedef struct Refined {
  int64_t best_ns;          /* the shortest forecast of those that fit; INT64_MAX: none does */
  int64_t forecasts, looks; /* looks: how often the bytes alive were computed */
} Refined;

/* Forecasts the candidates of one key in the order of their bounds, until a bound is not below the
 * limit. Each faster forecast lowers the limit. */
Refined refine_key(Flows *flows, Bench *bench, const Subject *subject, const PartsKey *key,
                   Candidate *const *at, int32_t count, int64_t limit_ns);

/* Estimates a candidate's time, bytes and parts of time by its forecast, or by the compiler's
 * passes where there is no forecast. False: the compiler refuses the candidate. */
bool refine_estimate(Flows *flows, Bench *bench, const Subject *subject, const PartsKey *key,
                     const Candidate *at, Estimate *out, int64_t *steps);

/* No setting whose bound is not below this is the best. A forecast may be too long for the best and
 * too short for the other. */
int64_t refine_limit(int64_t best_ns);

#endif
