/* finalists.h -- the fastest settings of a search, compiled and proven. */
#ifndef LOCKSTEP_FINALISTS_H
#define LOCKSTEP_FINALISTS_H

#include "compiler/search/tune.h"

/* Compiles and proves the fastest of `rows`, which are ordered by their times, as many as a limit
 * of work allows (the same on any number of threads). These rows get the times and bytes of their
 * plans; rows whose packed plan does not fit are removed. Orders the rows again, and returns how
 * many are left. */
int32_t finalists_prove(const Subject *subject, int32_t threads, TuneRow *rows, int32_t count,
                        Tuned *out);

#endif
