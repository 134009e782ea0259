/* stage.h -- a thread per rank that stages micro-batches ahead of the steps that need them.
 *
 * What a rank will load is known from the start: for each step its micro-batches, and after steps
 * that validate those of the validation. The thread walks that list and fills the ring of slots in
 * the arena; load records take them in the same order. */
#ifndef LOCKSTEP_STAGE_H
#define LOCKSTEP_STAGE_H

#include "runtime/data/samples.h"

typedef struct Stage Stage;

typedef struct StageSetup {
  const Plan *plan;
  const Samples *train;
  const Samples *valid;
  uint8_t *ring; /* prefetch_batches slots of sample_bytes */
  int32_t replicas;
  int32_t replica;
  int64_t first_step;
  int64_t last_step;
  int64_t samples_before; /* consumed before first_step */
  int64_t train_loads;    /* of one rank in a step */
  int64_t valid_loads;    /* of one rank in a validation: one a pass; 0: never validates */
} StageSetup;

/* Whether the run validates after `step`: every validate_every steps and after the last. */
bool stage_validates(const StageSetup *setup, int64_t step);

Stage *stage_start(const StageSetup *setup, Status *status);
void stage_stop(Stage *stage);

/* Copies the next micro-batch into `operand`, one per input. This is a ReplayLoad. */
bool stage_take(void *stage, void *const *operand, const int64_t *bytes, int32_t count,
                Status *status);

/* Time that stage_take has waited for data so far. */
int64_t stage_wait_ns(const Stage *stage);

#endif
