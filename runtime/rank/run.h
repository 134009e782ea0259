/* run.h -- from a plan to a trained model on this machine. */
#ifndef LOCKSTEP_RUN_H
#define LOCKSTEP_RUN_H

#include <stdatomic.h>

#include "kernels/kernel.h"
#include "runtime/boot/boot.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/comm/local.h"
#include "runtime/comm/nccl_api.h"
#include "runtime/data/samples.h"
#include "runtime/device/cuda/plugin.h"
#include "runtime/plan/mesh.h"
#include "runtime/plan/plan.h"
#include "runtime/process/lock.h"
#include "runtime/process/status.h"

/* A rank that is slowed down by so much in each step. */
typedef struct RankDelay {
  int32_t rank;
  int64_t step_ns;
} RankDelay;

typedef struct RunOptions {
  int64_t steps; /* stop after this one; 0: where the plan ends */
  KernelVariant variant;
  bool on_cpu;      /* run a plan for other devices, too */
  bool graphs;      /* of a plan for GPUs: steps after the first are graphs, else all are issued */
  bool holds_arena; /* of a plan for GPUs: NCCL is told of the arena (nccl_world_hold) */
  bool deterministic; /* of a plan for GPUs: use only what reproduces the same bits, at some cost in
                         speed */
  const struct CudaPlugin *cuda; /* replaces the one that is loaded; NULL except in tests */
  bool processes;   /* start a process for each rank here; this process is not a rank */
  bool threads;     /* all ranks are threads, even if a launcher has started this process */
  int limit_signal; /* also a request to stop: sent by a batch system before its time limit */
  bool quiet;
  bool plot;
  bool json;
  bool measure_peak;   /* else MFU is unknown */
  bool measure_memory; /* pages are mapped when they are used, and counted at the end; slower */
  Resume resume;
  const char *resume_path; /* of RESUME_PATH */
  const char *plan_path;   /* the file of the plan */
  const char *keep_plan;   /* the name it gets when all ranks are up; NULL: it stays where it is */
  int64_t ranks_every;     /* ranks record their steps and are compared every so many; 0: never */
  int64_t trace_first, trace_last; /* steps of which every record is kept; 0: none */
  CommDelay link_delay;            /* of every message between ranks; zero except in tests */
  RankDelay rank_delay;            /* the same of a rank */
} RunOptions;

/* Set by run_ask_to_stop, read by every rank's thread: finish the step, save, leave. */
extern atomic_bool run_stop_requested;

/* Called by the thread that waits for signals, not by run_job's. */
void run_ask_to_stop(void);
/* Before signals are taken: messages about them name steps, or passes of a plan that evaluates. */
void run_set_trains(const Plan *plan);
/* A second signal `number` arrived: tells the other processes and leaves a report. The caller then
 * ends the process. */
void run_stop_at_once(int number);
/* The same when a mapped file was truncated: `why` names it. */
void run_lost_file(const char *why);

/* True after all ranks of this process have done their first step, until one of them has done its
 * last. Nothing may be allocated during this time; tests check it. */
extern atomic_bool run_is_steady;

/* Takes resume options that the command line did not give from the plan. */
RunOptions run_defaults(const Plan *plan);

/* True: the run ended normally, with status code STATUS_DONE or STATUS_STOPPED. */
bool run_job(const Plan *plan, const RunOptions *options, Status *status);

/* Facts that the ranks of a process share; ranks only read them. */
typedef struct Run {
  const Plan *plan;
  const RunOptions *options;
  Mesh mesh;
  Samples train;
  Samples valid;
  Boot *boot;
  int64_t last_step;
  WeightFiles weights;    /* the weights that a run begins with; no files: random ones */
  uint64_t data_sum;      /* of the training data */
  Lock lock[2];           /* of the run's folder and the checkpoints' */
  const CudaPlugin *cuda; /* NULL: ranks train on processors */
  const Kernel *cuda_kernels;
  const NcclApi *nccl; /* NULL: ranks train on processors, or there is only one */
} Run;

/* Called by each rank of the process: its first step is done; the rank's last step is done, or the
 * rank has failed. */
void run_steady_enter(const Run *run);
void run_steady_leave(void);

#endif
