/* environment.h -- what a job sets in the environment of its ranks (slurm.env): names that
 * libraries know, values that they read, and nothing that the script has for itself. */
#ifndef LOCKSTEP_ENVIRONMENT_H
#define LOCKSTEP_ENVIRONMENT_H

#include "compiler/compile.h"

/* Reports what is wrong. Of a name of NCCL's or libfabric's that environment.def lacks it only
 * warns: the library there may be newer. */
void environment_check(Compile *c, const Job *job);

#endif
