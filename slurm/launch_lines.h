/* launch_lines.h -- lines of what Slurm is asked for: an option, its value, and the key or default
 * that asks for it. */
#ifndef LOCKSTEP_SLURM_LAUNCH_LINES_H
#define LOCKSTEP_SLURM_LAUNCH_LINES_H

#include "slurm/launch.h"

/* A launch while it is filled in. */
typedef struct LaunchMaking {
  Compile *c;
  const Compiled *compiled;
  Launch *launch;
} LaunchMaking;

/* "slurm.partition; site: specs/sites/x.lua:3:15" */
const char *launch_because(const LaunchMaking *m, int32_t field, const char *key);
void launch_add(const LaunchMaking *m, LaunchLines *lines, const char *name, const char *value,
                const char *why);
const char *launch_number(const LaunchMaking *m, int64_t n);

/* The pair of that name; NULL: there is none. */
const Pair *launch_pair(const PairList *pairs, const char *name);

/* Options that a job or a site adds to sbatch's, or to srun's. */
void launch_add_pairs(const LaunchMaking *m, const PairList *pairs, bool is_step);

/* Cores of a rank: those of its threads; ranks on GPUs share the cores of a node. */
int64_t launch_cores(const LaunchMaking *m);

/* launch_directives.c: what sbatch is asked for. */
void launch_add_directives(const LaunchMaking *m);

/* launch_step.c: the srun that starts the ranks. */
void launch_add_step(const LaunchMaking *m);

/* launch_time.c: slurm.time from the long end of the expected time of all steps, where the job does
 * not say it. NULL: no time is expected either; reported. */
const Job *launch_with_time(const LaunchMaking *m, const Job *job);

/* The signal before the limit: when the ranks are told that it comes. False when reported: there
 * would be no time to train. */
bool launch_add_signal(const LaunchMaking *m);

/* A run that is longer than the limit continues in the next job of a chain, where the job does not
 * go back into the queue by itself. A job too many costs nothing: it ends at once if the run is
 * done.
 */
void launch_add_chain(const LaunchMaking *m);

#endif
