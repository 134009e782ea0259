/* user_plan.h -- compiles a job file, and keeps the diagnostics. */
#ifndef LOCKSTEP_TESTS_USER_PLAN_H
#define LOCKSTEP_TESTS_USER_PLAN_H

#include <stdbool.h>
#include <stdio.h>

#include "runtime/plan/plan.h"

typedef enum UserPlanEnd { USER_PLAN_DONE, USER_PLAN_REFUSED, USER_PLAN_DEFECT } UserPlanEnd;

/* Compiles as the command line would on a machine with two cores, and maps the plan that it writes.
 * Diagnostics go to `out`: whole, or when `way` is given the errors in one line each. */
UserPlanEnd user_plan(const char *job_path, const char *plan_path, const char *way, FILE *out,
                      Plan *plan);

#endif
