/* options.h -- looks up options of sbatch and srun in options.def. */
#ifndef LOCKSTEP_SLURM_OPTIONS_H
#define LOCKSTEP_SLURM_OPTIONS_H

#include "compiler/job/job.h"

/* Refuses an option of slurm.sbatch (is_step: of slurm.srun) that does not exist, is not accepted
 * there or follows from the plan. True: it may be in the script. */
bool option_allowed(Compile *c, const Pair *pair, bool is_step);

/* The Slurm version that introduced it, 2405 for 24.05; 0: an old one. May depend on `value`:
 * exclusive=topo. */
int32_t option_version(const char *name, const char *value);

/* The plug-in that provides it, or NULL. */
const char *option_plugin(const char *name);

/* "24.05", "22.05.8", "slurm-wlm 22.05.8" -> 2405, 2205; 0: no version. */
int32_t version_read(const char *text);

#endif
