/* trial.h -- runs a plan that may be wrong for two steps, and reports what happens.
 *
 * All ranks are threads of a child process, so that whoever hangs or crashes does so alone. Kernels
 * and communications wait now and then, so that lanes and ranks meet in another order every time,
 * and bytes that no record has written yet are NaN: the whole arena before init, all but persistent
 * buffers before each step (a HOSTILE build: each buffer whenever its life begins). Between steps
 * the ranks go on from the state that a checkpoint would have of them. A plan that evaluates does
 * so after each step. Plans for GPUs run with the kernels for GPUs, fused ones too, as the shim of
 * kernels/cuda/host has them. */
#ifndef LOCKSTEP_TESTS_TRIAL_H
#define LOCKSTEP_TESTS_TRIAL_H

#include "runtime/plan/plan.h"

enum { TRIAL_STEPS = 2 };

typedef enum TrialEnd { TRIAL_DONE, TRIAL_REFUSED, TRIAL_HUNG, TRIAL_CRASHED } TrialEnd;

typedef struct Trial {
  TrialEnd end;
  double loss, norm; /* of rank 0 in the last step */
  uint64_t reports;  /* losses and norms of all ranks, steps and evaluations, in one number */
  uint64_t state;    /* parameters, master copies and moments of all ranks, the same */
  int fused;         /* pairs of records of all ranks that ran fused */
} Trial;

/* How a plan is run. */
typedef struct TrialHow {
  uint64_t seed;    /* of delays */
  unsigned limit_s; /* who takes longer, hangs; on a machine of its own */
  bool on_queues;   /* each lane is a thread that waits before each work, so that only edges and
                       waits order them */
} TrialHow;

/* `good` says where state is. */
Trial trial_run(const Plan *plan, const Plan *good, TrialHow how);

bool trial_equal(const Trial *a, const Trial *b);

/* The difference of a trial that is not equal: "hangs", "reports other numbers". */
const char *trial_difference(const Trial *trial, const Trial *original);

#endif
