/* rank.h -- what a process has for its ranks, and the life of one of them. */
#ifndef LOCKSTEP_RANK_H
#define LOCKSTEP_RANK_H

#include "runtime/boot/boot.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/comm/nccl_api.h"
#include "runtime/data/samples.h"
#include "runtime/device/cuda/plugin.h"
#include "runtime/mesh.h"
#include "runtime/process/lock.h"
#include "runtime/run.h"

/* Ranks read it and write nothing in it. */
typedef struct Run {
  const Plan *plan;
  const RunOptions *options;
  Mesh mesh;
  Samples train;
  Samples valid;
  Boot *boot;
  int64_t last_step;
  uint64_t data_sum;      /* of the training data */
  Lock lock[2];           /* of the run's folder and the checkpoints' */
  const CudaPlugin *cuda; /* NULL: ranks train on processors */
  const Kernel *cuda_kernels;
  const NcclApi *nccl; /* NULL: they do, or there is one rank */
} Run;

/* A BootRank: opens everything, runs all steps, closes everything. True: the status code is
 * STATUS_DONE or STATUS_STOPPED. */
bool rank_main(void *run, int32_t rank, Status *status);

/* Which algorithms products have had, as it is kept beside the plan. */
bool rank_read_choices(const CudaPlugin *cuda, const RunOptions *options, Status *status);

/* Told by each rank of the process: the first step is done; the last one is, or it has failed. */
void run_steady_enter(const Run *run);
void run_steady_leave(void);

#endif
