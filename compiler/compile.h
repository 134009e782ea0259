/* compile.h -- (job, machine) -> plan or diagnostics: pure functions, without globals, clock or
 * environment. search/ calls them, as often as its question needs. */
#ifndef LOCKSTEP_COMPILE_H
#define LOCKSTEP_COMPILE_H

#include "compiler/draft/cost/outside.h"
#include "compiler/draft/draft.h"
#include "compiler/graph/model/model.h"
#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan.h"

/* How much backward computes again. */
typedef struct Recompute {
  RecomputeChoice choice; /* none, selective, block or every */
  int64_t group_layers;   /* 0: none */
} Recompute;

typedef struct Compiled {
  const Job *job;
  const Job *as_read;     /* before anything was derived; NULL: nothing asks for changes of it */
  const Machine *machine; /* the one of compile_open */
  Cluster cluster;
  const Fabric *fabric;
  Model *model; /* open between compile_open and compile_close */
  Derived derived;
  int64_t kv_heads;          /* of the model; 0: it has none of the name */
  int64_t parameters;        /* of the whole model */
  int64_t flops_per_token;   /* as op_flops_per_token counts */
  Outside outside;           /* device memory that is used outside the arena */
  double budget_share;       /* of what that leaves; 1, and less where a search leaves a margin */
  int64_t budget_bytes;      /* of one rank */
  int64_t disk_budget_bytes; /* the same of their files */
  int64_t host_budget_bytes; /* of the ranks of one node, in its host memory; -1: unknown */
  Recompute recompute;       /* of draft */
  Moves moves;               /* by offload = "auto" */
  const char *const *why;    /* how it chose these, by lines; ends with NULL. NULL: it did not */
  const TextList *limits;    /* of the search of parallel = "auto"; NULL: there was none */
  bool updates_here;         /* offload.update = "auto", and they are faster on the device */
  /* By where updates run: predicted time of a step; 0: not compared. */
  int64_t host_step_ns, device_step_ns;
  bool leaves_snapshots; /* checkpoint.async = "auto", and a copy of the state does not fit */
  /* Where recompute = "auto" recomputes: what a rank needs without. 0 elsewhere. */
  int64_t without_recompute_bytes;
  Draft *draft;
  Choice choice;      /* where ranks are placed, and what other orders cost */
  ProveReport *proof; /* NULL if the plan does not fit */
  Plan plan;          /* its tables are in the compile's arena */
} Compiled;

/* Resolves what all drafts of a job share: cluster, fabric, degrees, budget; opens the model. `job`
 * is from spec_load, `machine` is for cluster = "here". False when reported; compile_close follows
 * in both cases. */
bool compile_open(Compile *c, Job *job, const Machine *machine, Compiled *out);
void compile_close(Compiled *out);

/* The two halves of compile_open: first the machine and the model, which no degree of parallelism
 * changes; then the degrees. */
bool compile_meet(Compile *c, Job *job, const Machine *machine, Compiled *out);
bool compile_derive(Compile *c, Job *job, Compiled *out);
ModelFacts compile_facts(const Compiled *met);

/* Bytes that a rank of these degrees may use (NULL: of any), and what else is on its device. */
int64_t compile_budget_of(const Job *job, const Compiled *known, const Derived *derived,
                          Outside *outside);

/* One run of all passes up to the one after which memory and times are known. NULL when reported.
 */
Draft *compile_once(Compile *c, const Job *job, const Compiled *known, Recompute recompute);

/* The first passes of it: segments and their times; nothing is cut into stages yet. */
Draft *compile_segments(Compile *c, const Job *job, const Compiled *known, Recompute recompute);

/* The same graphs with other replicas, stages and ZeRO: `derived` has the parts' tp, cp, sequence
 * and micro-batch. The parts' graphs then have its mesh.
 * Records of a segment have their edges. */
Draft *compile_rearranged(const Draft *parts, const Derived *derived);

/* Adds the calls of a stage's train step to a copy of a draft with segments, for this many
 * micro-batches of a replica, in the order of this pipeline (NULL: one stage). Frames stay on the
 * device. False: it cannot be cut into stages. */
bool compile_stage(const Draft *segments, const Pipeline *pipeline, int64_t microbatches,
                   int32_t stage, Draft *out);

/* compile_once for estimates: of its programs only the train step has dependencies and is emitted.
 */
Draft *compile_sketch(Compile *c, const Job *job, const Compiled *known, Recompute recompute);

/* Writes out->draft as out->plan, ranks in the order that communicates best. */
void compile_emit(Compile *c, Job *job, Compiled *out);

/* Proves out->plan. Reports `unproven` otherwise: such a plan never leaves the compiler. */
void compile_prove(Compile *c, const Job *job, Compiled *out);

#endif
