/* outputs.h -- outputs that would replace what a job reads. */
#ifndef LOCKSTEP_OUTPUTS_H
#define LOCKSTEP_OUTPUTS_H

#include "compiler/show/cli/cli.h"

/* Refuses an output that is one of the job's Lua files, or of its data. */
ExitCode check_output_of(const Compile *c, const Job *job, const char *path);

#endif
