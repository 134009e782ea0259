/* staging.h -- a thread per rank that stages micro-batches ahead of the steps that need them.
 *
 * The loads of a rank are known from the start: the micro-batches of each step and, after steps
 * that validate, those of the validation. The thread walks this list and fills a ring of slots in
 * host memory, each as large as a step; runs of programs take them in the same order. */
#ifndef LOCKSTEP_STAGING_H
#define LOCKSTEP_STAGING_H

#include "runtime/data/samples.h"

typedef struct Staging Staging;

typedef struct StagingSetup {
  const Plan *plan;
  const Samples *train;
  const Samples *valid;
  uint8_t *ring; /* prefetch_steps slots, each of accumulation x sample_bytes */
  int32_t replicas;
  int32_t replica;
  int64_t first_step;
  int64_t last_step;
  int64_t samples_before; /* consumed before first_step */
  int64_t train_loads;    /* of one rank in a step */
  int64_t valid_passes;   /* of a validation, a micro-batch each; 0: never validates */
  bool is_held;           /* first_step and samples_before are set later by staging_begin */
} StagingSetup;

/* True if the run validates after `step`: every validate_every steps and after the last. */
bool staging_validates(const StagingSetup *setup, int64_t step);

Staging *staging_start(const StagingSetup *setup, Status *status);
/* Starts staging that is held. */
void staging_begin(Staging *staging, int64_t first_step, int64_t samples_before);
void staging_stop(Staging *staging);

/* The micro-batches of the next run of a program, one after another. They stay valid until given
 * back, in the order in which they were taken. NULL: none; `status` says why. */
const uint8_t *staging_take(Staging *staging, Status *status);
/* How many targets count (samples_targets) in what was taken last. */
LossTargets staging_targets(const Staging *staging);
void staging_give_back(Staging *staging);

/* Time that staging_take has waited for data so far. */
int64_t staging_wait_ns(const Staging *staging);

#endif
