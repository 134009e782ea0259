/* environment.h -- checks what a job sets in the environment of its ranks (slurm.env): names that
 * libraries know, values that they accept, and nothing that the script uses itself. */
#ifndef LOCKSTEP_ENVIRONMENT_H
#define LOCKSTEP_ENVIRONMENT_H

#include "compiler/compile.h"

/* Reports mistakes. For a name of NCCL or libfabric that environment.def lacks it only warns: the
 * library on the cluster may be newer. */
void environment_check(Compile *c, const Job *job);

#endif
