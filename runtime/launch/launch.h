/* launch.h -- starts, connects and watches one process for each rank, all on this machine.
 *
 * The same path as under Slurm: each process finds a PMIx server in its environment, which here is
 * this process. What ranks print is passed on with their rank number in front; rank 0's stdout is
 * the run's result and is passed on unchanged. */
#ifndef LOCKSTEP_LAUNCH_H
#define LOCKSTEP_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/plan/plan.h"
#include "runtime/process/status.h"

typedef struct LaunchSetup {
  const Plan *plan;
  char *const *word; /* of this process's command line */
  int32_t word_count;
  const char *keep_plan; /* given to rank 0 alone; NULL: none */
  int limit_signal;      /* a request, as in requests.h */
  bool json; /* rank 0's stdout is one document; if the run fails, one about the failure replaces it
              */
} LaunchSetup;

/* Runs all ranks to their end and returns the exit code of the run: that of the first rank that
 * failed and is not an echo; STATUS_WORLD if a signal killed it. `status` is filled if no rank has
 * reported why the run failed. */
int32_t launch_run(const LaunchSetup *setup, Status *status);

#endif
