/* lints.h -- valid jobs whose keys cannot have the effect that they name, or that waste what they
 * ask for: rules that need the plan. Those that need only the job are in job/read/lints.c. */
#ifndef LOCKSTEP_LINTS_H
#define LOCKSTEP_LINTS_H

#include "compiler/compile.h"

/* One lint for each rule that applies. After compile_emit. */
void plan_lints(Compile *c, const Job *job, const Compiled *out);

/* Those that say what they cost, in milliseconds of the expected step: time_lints.c. `is_outside`:
 * advice_outside has reported that memory is short. */
void time_lints(Compile *c, const Job *job, const Compiled *out, bool is_outside);

/* Lints that estimate a changed job, to find the time that the change would save: for verbs that
 * judge a job, because an estimate takes as long as half a compile. After fit_plan. */
void change_lints(Compile *c, const Compiled *out);

#endif
