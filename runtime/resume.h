/* resume.h -- where a run goes on: which checkpoint, and whether the job is still that experiment.
 */
#ifndef LOCKSTEP_RESUME_H
#define LOCKSTEP_RESUME_H

#include "runtime/rank.h"

/* Sets run->resumes, checkpoint, first_step and samples_before; the data must be open. Touches
 * nothing. A checkpoint that cannot be read stops the run (STATUS_WORLD): only a damaged one gives
 * way to the one before. A job that is another experiment than the checkpoint's is refused with the
 * keys that differ; one that has nothing left to do ends with STATUS_NOTHING_LEFT. */
bool resume_find(Run *run, Status *status);

/* When all ranks are up: checkpoints of steps that this run will write anew are kept, out of the
 * way. */
bool resume_clear_way(const Run *run, Status *status);

#endif
