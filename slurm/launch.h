/* launch.h -- what a compiled job asks Slurm for, each line with the key that it follows from.
 *
 * In:   a job that compiled, the folder of the programs.
 * Out:  a Launch in the compile's arena. The script (script.h) and the screen of `explain --launch`
 *       are two ways to print it; neither decides anything.
 * A pure function: no clock, no environment, so equal input is an equal script. */
#ifndef LOCKSTEP_LAUNCH_H
#define LOCKSTEP_LAUNCH_H

#include "compiler/compile.h"

/* "--nodes" "4" "cluster.nodes"; value NULL: the option takes none. */
typedef struct LaunchLine {
  const char *name, *value, *why;
} LaunchLine;
typedef VEC(LaunchLine) LaunchLines;

enum { CHAIN_MOST = 100 }; /* jobs of a chain */

/* The same job on fewer nodes, for a run that has lost some (slurm.elastic). */
typedef struct LaunchFewer {
  int64_t nodes, ranks;
  Plan *plan;       /* NULL: `why` not */
  Compile *compile; /* its arena holds the result and `why`; NULL: nothing is compiled */
  uint64_t plan_id;
  const char *plan_path; /* in the run folder */
  const char *why;
} LaunchFewer;

typedef struct Launch {
  const Job *job;
  const Plan *plan;
  uint64_t plan_id;
  const char *programs;     /* the folder of lockstep-rank on the nodes */
  const char *plan_path;    /* in the run folder */
  int64_t nodes, ranks;     /* of the plan */
  int64_t node_ranks;       /* ranks a node */
  int64_t devices;          /* GPUs a node; 0: ranks run on processors */
  bool saves;               /* checkpoint.every is not "never" */
  int64_t checkpoint_bytes; /* of one checkpoint; 0 where none is saved */
  int32_t umask;            /* slurm.umask; -1: that of the shell */
  int64_t lead_s;           /* the signal comes so long before the limit */
  TextList hosts; /* "n7:8" of each node: a host and its ranks, in the plan's order; empty: the plan
                     names no hosts, and consecutive ranks fill Slurm's nodes in order */
  int64_t chain;  /* jobs one after another; 1: a single job */
  LaunchLines waits;      /* of sbatch, for each job of a chain but the first */
  bool needs_hosts;       /* exactly these hosts, because nodes are of several types */
  LaunchLines directives; /* of sbatch */
  LaunchLines environment;
  LaunchLines step;       /* options of srun */
  VEC(LaunchFewer) fewer; /* the most nodes first */
} Launch;

/* `programs` is used if the job does not set slurm.programs. NULL when reported: the job has no
 * slurm.time, an option is unknown or derived, the limit is too short to save before it, or its
 * nodes are of several types that Slurm cannot tell apart. */
Launch *launch_make(Compile *c, const Compiled *compiled, const char *programs);

/* True if the limits of memory that slurm.sbatch and slurm.srun set hold what the plan puts into a
 * node's memory. False when reported. */
bool launch_check_memory(Compile *c, const Compiled *compiled);

#endif
