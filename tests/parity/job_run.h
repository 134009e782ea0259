/* job_run.h -- runs a plan inside the test and reads what the run wrote about itself. */
#ifndef LOCKSTEP_TESTS_JOB_RUN_H
#define LOCKSTEP_TESTS_JOB_RUN_H

#include "runtime/rank/run.h"

enum { RUN_STEPS_MAX = 80 };

typedef struct RunRecord {
  int64_t last_step;
  double loss[RUN_STEPS_MAX + 1]; /* by step, from 1 */
  double norm[RUN_STEPS_MAX + 1];
  double comm_bytes[RUN_STEPS_MAX + 1]; /* sent by rank 0 */
  uint64_t planned_bytes, addressed_bytes;
} RunRecord;

/* Runs to step `steps`, or to the end when it is 0. Fills the record from metrics.jsonl (all steps
 * in it, of earlier runs that this one continues too) and summary.json. False when something was
 * printed. */
bool job_run(const Plan *plan, int64_t steps, RunRecord *record);
/* The same with other options; quiet, without a plot. */
bool job_run_as(const Plan *plan, const RunOptions *options, RunRecord *record);

/* Makes FOLDER for the test and a file of `count` u8 tokens in it that have something to learn:
 * FOLDER/tokens.u8, ids below `vocab`. */
void job_folder(const char *folder, int64_t count, uint32_t vocab);
/* Also of a folder that is not there. */
void job_folder_remove(const char *folder);

#endif
