/* bench.h -- the parts of lockstep bench. */
#ifndef LOCKSTEP_CLI_BENCH_H
#define LOCKSTEP_CLI_BENCH_H

#include "compiler/show/cli/cli.h"

/* kernels, copies, files DIRECTORY: what its first word says. */
ExitCode bench_rates(const Options *options);

#endif
