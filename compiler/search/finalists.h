/* finalists.h -- the fastest settings of a search, compiled and proven. */
#ifndef LOCKSTEP_FINALISTS_H
#define LOCKSTEP_FINALISTS_H

#include "compiler/search/tune.h"

/* Compiles and proves the first of `rows`, which are in the order of their times, as far as the
 * work allows: the same on any number of threads. Rows have the times and bytes of their plans
 * then; those that do not fit when packed leave. Orders the rows again, and returns how many
 * are left. */
int32_t finalists_prove(const Subject *subject, int32_t threads, TuneRow *rows, int32_t count,
                        Tuned *out);

#endif
