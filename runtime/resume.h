/* resume.h -- where a run goes on: which checkpoint, and whether the job is still that experiment.
 */
#ifndef LOCKSTEP_RESUME_H
#define LOCKSTEP_RESUME_H

#include "runtime/rank.h"

/* Where all ranks of a run begin, with the file from which this one has its state. */
typedef struct RunStart {
  bool resumes;
  Checkpoint checkpoint; /* when it resumes */
  int64_t first_step;
  int64_t samples_before;
} RunStart;

/* Called by all ranks together; touches nothing. A checkpoint that cannot be read stops the run
 * (STATUS_WORLD): only a damaged one gives way to the one before. A job that is another experiment
 * than the checkpoint's is refused with the keys that differ; one that has nothing left to do ends
 * with STATUS_NOTHING_LEFT. */
bool resume_find(const Run *run, int32_t rank, Comm *comm, RunStart *start, Status *status);
void resume_close(RunStart *start);

/* On rank 0, when all ranks are up: checkpoints of steps that this run will write anew are kept,
 * out of the way. */
bool resume_clear_way(const Run *run, int64_t first_step, Status *status);

#endif
