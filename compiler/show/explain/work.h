/* work.h -- what each stage of a pipeline computes for a micro-batch. Private to explain/.
 *
 * Kernels of forward and backward with the plan's predicted times, without communication and
 * updates: stages wait for each other when these times differ. */
#ifndef LOCKSTEP_EXPLAIN_WORK_H
#define LOCKSTEP_EXPLAIN_WORK_H

#include "compiler/compile.h"

typedef struct StageWork {
  double all;     /* of one micro-batch */
  double *region; /* of it, by region */
  int32_t layers; /* layers of stacks */
} StageWork;

typedef struct Work {
  StageWork *stages;
  int32_t heaviest;
  bool is_time;  /* in ns; in FLOPs if no times are predicted */
  double excess; /* how far the heaviest is above the mean: 0.08 = 8 % */
} Work;

Work work_of(const Compiled *compiled);

/* "3.21 ms", "4.2 GFLOP" */
const char *work_text(const Compiled *compiled, const Work *work, double amount);

/* Why that stage is the heaviest: "it has 3 of 8 layers, and the head (end) is 26 % of its work".
 */
const char *work_reason(const Compiled *compiled, const Work *work);

#endif
