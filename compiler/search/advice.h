/* advice.h -- what to change when a plan does not fit: a list of changes, each compiled on top of
 * the earlier ones, until one fits; and how much memory is left beside a plan that does fit. */
#ifndef LOCKSTEP_ADVICE_H
#define LOCKSTEP_ADVICE_H

#include "compiler/compile.h"

/* Reports `does-not-fit` where the job sets the budget, with what each change would need and, as
 * its fix, the options that make the job fit. */
void advice_unfit(Compile *c, const Job *job, const Compiled *out);

/* Warns when the arena leaves less of a GPU than CUDA and NCCL may take; true: it does. Needs the
 * plan. */
bool advice_outside(Compile *c, const Job *job, const Compiled *out);

#endif
