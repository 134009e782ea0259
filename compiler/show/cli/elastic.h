/* elastic.h -- plans for fewer nodes, of a job that continues with them (slurm.elastic). */
#ifndef LOCKSTEP_ELASTIC_H
#define LOCKSTEP_ELASTIC_H

#include "compiler/show/cli/cli.h"
#include "runtime/manifest/manifest.h"
#include "runtime/plan/plan_io.h"
#include "slurm/launch.h"

/* Compiles the job for each number of nodes from slurm.elastic on, the most first, into
 * launch->fewer; reports a value that no job can have. A job without the key gets none. */
void elastic_plans(Compile *c, const Options *options, const Compiled *full, Launch *launch);
void elastic_close(Launch *launch); /* frees them */

/* Writes these plans beside the job's, and their sources into the run folder. */
bool elastic_write(const Launch *launch, const char *folder, char why[PLAN_WHY_BYTES]);

#endif
