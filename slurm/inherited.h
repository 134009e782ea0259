/* inherited.h -- variables that a shell inside an allocation, or a step of srun or mpirun, has of
 * its own job: sbatch would read them instead of the script's lines, and hand them to the new job.
 */
#ifndef LOCKSTEP_INHERITED_H
#define LOCKSTEP_INHERITED_H

#include "compiler/base/base.h"

/* Removes them from this process's environment. Returns their names for a message, as "SLURM_*
 * (43), OMP_NUM_THREADS"; "": there were none. Variables that tell Slurm's programs their cluster
 * remain. */
const char *inherited_clear(Arena *arena);

#endif
