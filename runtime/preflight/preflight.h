/* preflight.h -- is a node fit for a plan? Each node says what it is in one line; all lines
 * together are judged once. The batch script runs one process a node, which adds what it finds of
 * the network (network.h), then one that reads what they wrote.
 *
 * A line is: node, then NAME=NUMBER for each fact, then data=REASON to the end of the line. */
#ifndef LOCKSTEP_PREFLIGHT_H
#define LOCKSTEP_PREFLIGHT_H

#include <stdio.h>

#include "runtime/plan/plan.h"
#include "runtime/status.h"

typedef struct Preflight {
  char node[128];
  uint64_t program; /* checksum of lockstep-rank */
  uint64_t plan;    /* its id */
  int64_t cores;    /* that this process may use */
  int64_t memory;   /* bytes that the node has to give */
  int64_t lacking;  /* devices of the plan's seats that are not on its PCI bus */
  int64_t shm;      /* bytes free in /dev/shm */
  int64_t disk;     /* bytes free where checkpoints go */
  int64_t saved;    /* checkpoints that are there already */
  int64_t clock_ms; /* since 1970 */
  int64_t mflops;   /* of the matrix product, with the threads of one rank */
  char data[200];   /* why the data cannot be read, or "" */
} Preflight;

/* What this node is; takes about half a second. */
void preflight_look(const Plan *plan, Preflight *facts);
void preflight_print(const Preflight *facts, FILE *out);

/* What the ranks of a node take of memory, where that is most. */
uint64_t preflight_node_bytes(const Plan *plan);

/* What the judge is told beside the plan. */
typedef struct PreflightAsked {
  bool is_full;    /* each node has looked long (full.h) */
  double write_bs; /* what the job counts on when a checkpoint is written, in bytes/s; 0: nothing */
} PreflightAsked;

/* Reads lines of `paths`, one a node, and prints a line for each finding: "bad NODE: ..." where a
 * node should not be used, "all: ..." where the job must change, "slow NODE: ..." and "note all:
 * ..." as warnings. True: the run may start. Else status: STATUS_WORLD for nodes, STATUS_USER for
 * the job. */
bool preflight_judge(const Plan *plan, const PreflightAsked *asked, char *const *paths,
                     int32_t count, FILE *out, Status *status);

/* The part of it about network.h's lines in the same files; adds bad nodes to `bad`. False: not
 * enough memory. */
bool preflight_judge_network(const Plan *plan, const Preflight *node, char *const *paths,
                             int32_t count, FILE *out, int32_t *bad);

/* About gpus.h's, of plans for GPUs. */
bool preflight_judge_gpus(const Plan *plan, const Preflight *node, char *const *paths,
                          int32_t count, FILE *out, int32_t *bad);

/* And about full.h's. */
bool preflight_judge_full(const Plan *plan, const PreflightAsked *asked, const Preflight *node,
                          char *const *paths, int32_t count, FILE *out, int32_t *bad);

#endif
