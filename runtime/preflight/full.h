/* full.h -- the full check of a node, slurm.preflight = "full": memory is written and read back,
 * and so is a file where checkpoints go; samples are read from all parts of the data; all cores
 * compute at once; the ports of its NICs and the driver of its GPUs are listed; and if the plan is
 * for GPUs, NVML is asked about each.
 *
 * The result is the last line of a node's output: "full NAME=NUMBER...", then driver=NAME,
 * ports=LIST and fault=REASON to the end of the line. */
#ifndef LOCKSTEP_PREFLIGHT_FULL_H
#define LOCKSTEP_PREFLIGHT_FULL_H

#include <stdio.h>

#include "runtime/plan/plan.h"
#include "runtime/preflight/preflight.h"

enum { FULL_PORTS_BYTES = 400 };

typedef struct Full {
  int64_t memory, memory_wrong; /* bytes written and read back; words that differ */
  int64_t disk, disk_mbs,
      disk_wrong;   /* the same for a file, and MB/s of writing until it is on disk */
  uint64_t samples; /* checksum of samples spread over the data */
  int64_t mflops;   /* of the matrix product, all cores together */
  int64_t down;     /* NICs of the plan's seats without a port that is up */
  char driver[64];  /* of its GPUs; "none" */
  /* ports that are up, with Gb/s: "mlx5_0/1:200,mlx5_1/1:200"; "none" */
  char ports[FULL_PORTS_BYTES];
  char fault[200]; /* the failure, or "" */
} Full;

/* Usually takes a few seconds; each part has a time limit, after which the process ends with a line
 * on stderr and code 2. `facts` is the result of the quick check. Lines about GPUs (gpus.h) are
 * written to `out`. */
void full_look(const Plan *plan, const Preflight *facts, Full *full, FILE *out);
void full_print(const Full *full, FILE *out);

/* Lists the InfiniBand and RoCE ports that are up; `system` is /sys. */
void full_ports(const char *system, char ports[FULL_PORTS_BYTES]);

#endif
