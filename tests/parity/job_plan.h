/* job_plan.h -- a job file of tests/parity/jobs as a plan that was proven, written and mapped. */
#ifndef LOCKSTEP_TESTS_JOB_PLAN_H
#define LOCKSTEP_TESTS_JOB_PLAN_H

#include "runtime/plan/plan.h"

enum { JOB_CHANGES_MAX = 24, JOB_PATH_BYTES = 512 };

/* Texts of -D; unused ones are NULL. */
typedef struct JobChanges {
  const char *text[JOB_CHANGES_MAX];
} JobChanges;

/* Compiles jobs/NAME.lua as the command line would on a machine with two cores, proves the plan and
 * writes it to `plan_path`. False when something was printed. */
bool job_plan(const char *name, const JobChanges *changes, const char *plan_path, Plan *plan);

/* Compiles it and shows its plan, which is neither proven again nor written. False when something
 * was printed. */
typedef void JobPlanLook(const Plan *plan, void *context);
bool job_plan_look(const char *name, const JobChanges *changes, JobPlanLook *look, void *context);

#endif
