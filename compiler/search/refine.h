/* refine.h -- forecasts those candidates of a key that may still be the best. */
#ifndef LOCKSTEP_REFINE_H
#define LOCKSTEP_REFINE_H

#include "compiler/search/bounds.h"
#include "compiler/search/estimate.h"
#include "compiler/search/flow.h"

/* The time that no plan's step is below, by a forecast and its least (forecast.h). Of 1,000 random
 * jobs, half of them with steps of few tokens, forecasts were at most 8.1 % above plans, and leasts
 * at most 0.8 %. */
int64_t refine_bound(int64_t forecast_ns, int64_t least_ns);

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

/* No setting whose bound is not below this is forecast before the settings below it are estimated:
 * plans may take so much longer than the best forecast. */
int64_t refine_limit(int64_t best_ns);

#endif
