/* outputs.h -- outputs that would replace a file that a job reads: one of its Lua files, of its
 * data, of its model's folder, or a description of a machine. `job` may be NULL: then the files of
 * data are not known. */
#ifndef LOCKSTEP_OUTPUTS_H
#define LOCKSTEP_OUTPUTS_H

#include "compiler/show/cli/cli.h"

/* True if `path` is a file that was read. */
bool is_input_of(const Compile *c, const Job *job, const char *path);

/* The first value of an option OUTPUT of options.def that is such a file, or NULL. */
const char *output_of_inputs(const Compile *c, const Job *job, const Options *options);

/* The same, refused. False: reported. */
bool check_output_of(Compile *c, const Job *job, const char *path);
bool check_job_outputs(Compile *c, const Job *job, const Options *options);

#endif
