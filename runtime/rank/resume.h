/* resume.h -- where a run continues: from which checkpoint, and whether the job is still the same
 * experiment.
 */
#ifndef LOCKSTEP_RESUME_H
#define LOCKSTEP_RESUME_H

#include "runtime/checkpoint/take.h"
#include "runtime/rank/rank.h"

/* The step at which all ranks begin, and the file that this rank's state comes from. */
typedef struct RunStart {
  bool resumes;
  Checkpoint checkpoint; /* when it resumes */
  int64_t below;         /* look below this step for an older one if it turns out to be damaged */
  int64_t first_step;
  int64_t samples_before;
  uint64_t weights_sum; /* content of the files that parameters begin with; 0: none, or not yet */
} RunStart;

/* No limit: any checkpoint. */
void resume_begin(RunStart *start);

/* Called by all ranks together; touches nothing. A checkpoint that cannot be read stops the run
 * (STATUS_WORLD): only a damaged one gives way to the one before. A job that is another experiment
 * than the checkpoint's is refused with the keys that differ; one that has nothing left to do ends
 * with STATUS_NOTHING_LEFT. Called again after resume_load has said that a checkpoint is damaged,
 * it tries the previous one. After false no checkpoint is open. */
bool resume_find(const Run *run, int32_t rank, Comm *comm, RunStart *start, Status *status);

/* The hash of the content of the model's files (start->weights_sum), by all ranks together: `sums`
 * has the chunks that this rank has read, and the others are read now. */
bool resume_sum_weights(const Run *run, int32_t rank, Comm *comm, RunStart *start, WeightSums *sums,
                        Status *status);

/* Called by all ranks together, after memory is mapped: loads the tensors, compares their
 * checksums, and reports what has changed. False with status code 0: the checkpoint was damaged,
 * and the state is unusable. */
bool resume_load(const Run *run, int32_t rank, Comm *comm, RunStart *start,
                 const CheckpointTarget *target, Status *status);
void resume_close(RunStart *start);

/* On rank 0, when all ranks are up: moves checkpoints of steps that this run will write again out
 * of the way. */
bool resume_clear_way(const Run *run, int64_t first_step, Status *status);

#endif
