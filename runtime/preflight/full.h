/* full.h -- the longer look at a node, slurm.preflight = "full": memory is written and read back,
 * so is a file where checkpoints go, samples are read from all over the data, all cores compute at
 * once, the ports of its network cards and the driver of its GPUs are named, and where the plan is
 * for GPUs NVML is asked about each.
 *
 * It is the last line of what a node says: "full NAME=NUMBER...", then driver=NAME, ports=LIST and
 * fault=REASON to the end of the line. */
#ifndef LOCKSTEP_PREFLIGHT_FULL_H
#define LOCKSTEP_PREFLIGHT_FULL_H

#include <stdio.h>

#include "runtime/plan/plan.h"
#include "runtime/preflight/preflight.h"

enum { FULL_PORTS_BYTES = 400 };

typedef struct Full {
  int64_t memory, memory_wrong; /* bytes written and read back; words that came back otherwise */
  int64_t disk, disk_mbs,
      disk_wrong;               /* the same of a file, and MB/s of writing until it is on disk */
  uint64_t samples;             /* checksum of samples from all over the data */
  int64_t mflops;               /* of the matrix product, all cores together */
  int64_t down;                 /* NICs of the plan's seats without a port that is up */
  char driver[64];              /* of its GPUs; "none" */
  char ports[FULL_PORTS_BYTES]; /* that are up, and Gb/s: "mlx5_0/1:200,mlx5_1/1:200"; "none" */
  char fault[200];              /* what could not be done, or "" */
} Full;

/* Mostly a few seconds; each part has a limit, after which the process ends with a line on stderr,
 * and code 2. `facts` is what the short look has found. Lines about GPUs (gpus.h) go to `out`. */
void full_look(const Plan *plan, const Preflight *facts, Full *full, FILE *out);
void full_print(const Full *full, FILE *out);

/* Of `system`, which is /sys: ports of InfiniBand and RoCE that are up. */
void full_ports(const char *system, char ports[FULL_PORTS_BYTES]);

#endif
