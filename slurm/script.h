/* script.h -- the batch script of a launch. Its fixed half is a copy of slurm/batch.bash in the
 * library. */
#ifndef LOCKSTEP_SLURM_SCRIPT_H
#define LOCKSTEP_SLURM_SCRIPT_H

#include "slurm/launch.h"

/* `command` is the command line that made it, for the head of the script. False when reported: the
 * library lacks batch.bash. */
bool script_print(Compile *c, const Launch *launch, const char *command, FILE *out);

/* `explain --launch`: what Slurm is asked for, and the key that each line follows from. */
void launch_print(Compile *c, const Launch *launch, FILE *out);

#endif
