/* rank.h -- what a process shares among its ranks, and the life of one of them. */
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

/* Ranks only read it. */
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
  const NcclApi *nccl; /* NULL: ranks train on processors, or there is only one */
} Run;

/* A BootRank: opens everything, runs all steps, closes everything. True: the status code is
 * STATUS_DONE or STATUS_STOPPED. */
bool rank_main(void *run, int32_t rank, Status *status);

/* The file beside the plan that keeps which algorithms products have used. */
bool rank_read_choices(const CudaPlugin *cuda, const RunOptions *options, Status *status);

/* Called by each rank of the process: its first step is done; its last step is done, or it has
 * failed. */
void run_steady_enter(const Run *run);
void run_steady_leave(void);

#endif
