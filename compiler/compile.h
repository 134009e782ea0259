/* compile.h -- (job, cluster) -> plan or diagnostics: a pure function, without globals, clock or
 * environment.
 *
 * Harder questions are loops around it, in compiler/search: `recompute = "auto"`, and what to
 * change after "does not fit". */
#ifndef LOCKSTEP_COMPILE_H
#define LOCKSTEP_COMPILE_H

#include "compiler/draft/draft.h"
#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan.h"

typedef struct Compiled {
  const Job *job;
  Cluster cluster;
  const Fabric *fabric;
  Derived derived;
  int64_t parameters;        /* of the whole model */
  int64_t flops_per_token;   /* as op_flops_per_token counts */
  int64_t budget_bytes;      /* of one rank */
  RecomputeChoice recompute; /* chosen: none, selective, block or every */
  int64_t group_layers;      /* of every */
  /* Where recompute = "auto" recomputes: what a rank needs without. 0 elsewhere. */
  int64_t without_recompute_bytes;
  const Draft *draft;
  Choice choice;      /* where ranks are placed, and what other orders cost */
  ProveReport *proof; /* NULL if the plan does not fit */
  Plan plan;          /* its tables are in the compile's arena */
} Compiled;

/* `job` is from spec_load, `machine` is for cluster = "here". On "does not fit" the plan of the
 * last attempt remains, so that its table of bytes can be shown. False when errors were reported.
 */
bool compile(Compile *c, Job *job, const Machine *machine, Compiled *out);

#endif
