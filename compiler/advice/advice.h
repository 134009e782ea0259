/* advice.h -- what to change when a plan does not fit: a ladder of changes, each compiled on top of
 * those above, until one fits; and what is left beside one that
 * does. */
#ifndef LOCKSTEP_ADVICE_H
#define LOCKSTEP_ADVICE_H

#include "compiler/compile.h"
#include "compiler/model/model.h"

/* Compiles a job as far as its memory is known, into out->draft. False when reported. */
typedef bool Fit(Compile *c, const Job *job, Model *model, Compiled *out);

/* Reports `does-not-fit` where the job sets the budget, with what each rung would need, and as its
 * fix the options that make it fit. */
void advice_unfit(Compile *c, const Job *job, const Compiled *out, Fit *fit);

/* Warns where the arena leaves less of a GPU than CUDA and NCCL may take. The plan is there. */
void advice_outside(Compile *c, const Job *job, const Compiled *out);

#endif
