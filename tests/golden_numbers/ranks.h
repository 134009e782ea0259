/* ranks.h -- runs one train step of a plan on all its ranks, as threads, and counts what its
 * records did. */
#ifndef LOCKSTEP_TESTS_RANKS_H
#define LOCKSTEP_TESTS_RANKS_H

#include "runtime/plan/plan.h"

enum { RANKS_MAX = 32 };

typedef struct RecordCount {
  int64_t runs, sent_bytes;
} RecordCount;

typedef struct Ranks {
  const Plan *plan;
  int32_t count;
  RecordCount *counts[RANKS_MAX]; /* by rank and record: of the step, without init */
} Ranks;

/* Every sample's tokens are 0. False when something was printed. Close it in either case. */
bool ranks_run(const Plan *plan, Ranks *ranks);
void ranks_close(Ranks *ranks);

#endif
