/* job_compile.h -- compiles a job file and keeps the compile, whose draft tells where buffers are.
 */
#ifndef LOCKSTEP_TESTS_JOB_COMPILE_H
#define LOCKSTEP_TESTS_JOB_COMPILE_H

#include "compiler/compile.h"

typedef struct JobCompile {
  Compile *compile;
  Compiled compiled;
  Plan plan; /* written to a file and mapped from there */
} JobCompile;

/* As the command line would on a machine with two cores. False: *error is the name of the first
 * error; a defect of the program is printed. Close it in either case. */
bool job_compile(JobCompile *job, const char *path, const char *plan_path, const char **error);
/* The same of a plan for that use; sampling is of three texts, of 5 tokens and 8 more. */
bool job_compile_use(JobCompile *job, const char *path, const char *plan_path, JobUse use,
                     const char **error);
void job_compile_close(JobCompile *job);

#endif
