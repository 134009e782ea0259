/* batch.h -- the size of a batch, while no degrees are known. */
#ifndef LOCKSTEP_JOB_BATCH_H
#define LOCKSTEP_JOB_BATCH_H

#include "compiler/job/job.h"

/* Reports a context that the model does not have, and a batch that is counted in another unit than
 * the data or is not whole sequences; the fix is a batch that so many ranks, or a divisor, divide.
 * False when reported. */
bool spec_check_batch(Compile *c, const Job *job, const ModelFacts *model, int64_t ranks);

#endif
