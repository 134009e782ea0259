/* options.h -- what options.def says of an option. */
#ifndef LOCKSTEP_SLURM_OPTIONS_H
#define LOCKSTEP_SLURM_OPTIONS_H

#include "compiler/spec/job.h"

/* Refuses an option of slurm.sbatch (is_step: of slurm.srun) that does not exist, is not taken
 * there or follows from the plan. True: it may stand in the script. */
bool option_allowed(Compile *c, const Pair *pair, bool is_step);

/* Since which Slurm it exists, 2405 for 24.05; 0: longer than anyone has to ask. `value` may
 * matter: exclusive=topo. */
int32_t option_version(const char *name, const char *value);

/* The plug-in that knows it, or NULL. */
const char *option_plugin(const char *name);

/* "24.05", "22.05.8", "slurm-wlm 22.05.8" -> 2405, 2205; 0: no version. */
int32_t version_read(const char *text);

#endif
