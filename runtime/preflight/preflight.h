/* preflight.h -- whether nodes are fit for a plan. Each node describes itself in one line, and all
 * lines are judged together. The batch script runs one process on each node, which adds the results
 * of the network test (network.h), then one process that reads what they wrote.
 *
 * A line is: node, then NAME=NUMBER for each fact, then data=REASON to the end of the line. disk.h
 * has the next line. */
#ifndef LOCKSTEP_PREFLIGHT_H
#define LOCKSTEP_PREFLIGHT_H

#include <stdio.h>

#include "runtime/plan/plan.h"
#include "runtime/preflight/disk.h"
#include "runtime/preflight/offload.h"
#include "runtime/process/status.h"

typedef struct Preflight {
  char node[128];
  uint64_t program;   /* checksum of lockstep-rank */
  uint64_t plan;      /* its id */
  int64_t cores;      /* how many cores this process may use */
  int64_t memory;     /* bytes that the node has to give */
  int64_t memlock;    /* bytes that a process may lock (ulimit -l); -1: as many as it likes */
  int64_t lacking;    /* devices of the plan's seats that are not on its PCI bus */
  int64_t shm;        /* bytes free in /dev/shm */
  int64_t disk;       /* bytes free where checkpoints go */
  int64_t saved;      /* whole checkpoints that new ones replace */
  int64_t clock_ms;   /* since 1970 */
  int64_t mflops;     /* of the matrix product, with the threads of one rank */
  char data[200];     /* why the data cannot be read, or "" */
  Disk checkpoints;   /* in a line after the others */
  OffloadDisk states; /* in the next one, where the plan has files */
} Preflight;

/* Describes this node; takes about half a second. */
void preflight_look(const Plan *plan, Preflight *facts);
void preflight_print(const Preflight *facts, FILE *out);

/* The memory that the ranks of a node take, on the node where that is most. */
uint64_t preflight_node_bytes(const Plan *plan);
/* Host memory that the device of a rank reads and writes, and that is locked for it; 0: none. */
uint64_t preflight_locked_bytes(const Plan *plan);

/* The judge's input besides the plan. */
typedef struct PreflightAsked {
  bool is_full;    /* each node has made the full check (full.h) */
  double write_bs; /* the rate at which the job expects to write checkpoints, in bytes/s; 0: none */
} PreflightAsked;

/* Reads the lines in `paths`, one file for each node, and prints a line for each finding: "bad
 * NODE: ..." if a node should not be used, "all: ..." if the job must change, "slow NODE: ..." and
 * "note all: ..." as warnings. True: the run may start. Otherwise status: STATUS_WORLD for nodes,
 * STATUS_USER for the job. */
bool preflight_judge(const Plan *plan, const PreflightAsked *asked, char *const *paths,
                     int32_t count, FILE *out, Status *status);

/* The part for the lines of network.h in the same files; adds bad nodes to `bad`. False: out of
 * memory. */
bool preflight_judge_network(const Plan *plan, const Preflight *node, char *const *paths,
                             int32_t count, FILE *out, int32_t *bad);

/* The part for the lines of gpus.h, for plans for GPUs. */
bool preflight_judge_gpus(const Plan *plan, const Preflight *node, char *const *paths,
                          int32_t count, FILE *out, int32_t *bad);

/* The part for the lines of full.h. */
bool preflight_judge_full(const Plan *plan, const PreflightAsked *asked, const Preflight *node,
                          char *const *paths, int32_t count, FILE *out, int32_t *bad);

#endif
