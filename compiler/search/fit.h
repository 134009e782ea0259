/* fit.h -- the plan of a job: with the cheapest recomputation that fits. */
#ifndef LOCKSTEP_FIT_H
#define LOCKSTEP_FIT_H

#include "compiler/search/tune.h"

/* Takes the first draft that fits among those that memory.recompute allows, cheapest first, or the
 * one that needs least memory when none fits, into out->draft. `out` is open. False when reported.
 */
bool fit_draft(Compile *c, const Job *job, Compiled *out);

/* A draft; without snapshots if checkpoint.async is "auto" and they do not fit. NULL when reported.
 */
Draft *fit_once(Compile *c, const Job *job, Compiled *out, Recompute recompute);

/* The predicted time of a step of that draft; 0: the device has no rates. */
int64_t fit_step_ns(Compile *c, const Job *job, const Compiled *out, Draft *d);

/* The same of a plan that has been made: of its slowest stage. */
int64_t fit_longest_ns(const Plan *plan);

/* True if a node has room for its ranks' arenas in host memory (those of snapshots) and for their
 * files. On processors host memory is the device's. */
bool fit_hosts(const Compiled *out, const Draft *d);

/* The same without a plan: the estimate of the recomputation that fit_draft would take. */
bool fit_estimate(Compile *c, Job *job, const Compiled *known, Estimate *out);

/* The number of the first of tuned's rows that fits when its memory is packed; where the memory of
 * nodes is too small for each, of the first that fits on devices. False when none does: reported.
 */
bool fit_tuned(Compile *c, const Subject *subject, const Tuned *tuned, int32_t *row);

/* (job, machine) -> proven plan; where parallel = "auto", with the keys that tune chooses. Reports
 * `does-not-fit`, with changes that would fit, where none does; the plan of the last attempt
 * remains then, so that its table of bytes can be shown. False when errors were reported. */
bool fit_plan(Compile *c, Job *job, const Machine *machine, Compiled *out);

#endif
