/* strategies.h -- a small job for every way to divide the work, of two steps in fp32. */
#ifndef LOCKSTEP_TESTS_STRATEGIES_H
#define LOCKSTEP_TESTS_STRATEGIES_H

#include <stdio.h>

#include "tests/parity/job_compile.h"

/* The settings that a job adds to tests/parity/jobs/MODEL.lua. */
typedef struct Strategy {
  const char *name, *model;
  int devices;
  const char *parallel, *more; /* without a model: `more` is a job file */
} Strategy;

/* The name of a strategy whose plan draws tokens. */
#define STRATEGY_SAMPLE "sample"

extern const Strategy strategies[];
extern const size_t strategies_count;

/* A strategy of the table, or a job file of two steps; NULL: neither. */
const Strategy *strategy_find(const char *name);

void strategy_write_job(FILE *out, const Strategy *strategy);

/* Files are made in `folder` and removed. False when something was printed; close it either way. */
bool strategy_compile(const Strategy *strategy, const char *folder, JobCompile *job);

#endif
