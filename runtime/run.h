/* run.h -- from a plan to a trained model on this machine. */
#ifndef LOCKSTEP_RUN_H
#define LOCKSTEP_RUN_H

#include <stdatomic.h>

#include "kernels/kernel.h"
#include "runtime/comm/local.h"
#include "runtime/plan/plan.h"
#include "runtime/status.h"

/* A rank that takes so much longer for each step. */
typedef struct RankDelay {
  int32_t rank;
  int64_t step_ns;
} RankDelay;

typedef struct RunOptions {
  int64_t steps; /* stop after this one; 0: where the plan ends */
  KernelVariant variant;
  bool on_cpu;      /* also a plan that is for other devices */
  bool graphs;      /* of a plan for GPUs: steps after the first are graphs, else all are issued */
  bool holds_arena; /* of a plan for GPUs: NCCL is told of the arena (nccl_world_hold) */
  bool deterministic; /* of a plan for GPUs: only what gives the same bits again, at some speed */
  const struct CudaPlugin *cuda; /* in place of the one that is loaded; NULL but in tests */
  bool processes;                /* start a process for each rank here, and be none of them */
  bool threads;     /* all ranks are threads, also where a launcher has started this process */
  int limit_signal; /* also a request to stop: of a batch system that comes to its limit */
  bool quiet;
  bool plot;
  bool json;
  bool measure_peak;   /* else MFU is unknown */
  bool measure_memory; /* pages come when they are used, and are counted at the end; slower */
  Resume resume;
  const char *resume_path; /* of RESUME_PATH */
  const char *plan_path;   /* the file of the plan */
  const char *keep_plan;   /* the name it gets when all ranks are up; NULL: it stays where it is */
  int64_t ranks_every;     /* ranks keep their steps, and are compared so often; 0: they do not */
  int64_t trace_first, trace_last; /* steps of which every record is kept; 0: none */
  CommDelay link_delay;            /* of every message between ranks; zero but in tests */
  RankDelay rank_delay;            /* the same of a rank */
} RunOptions;

/* Raised by run_ask_to_stop, read by every rank's thread: finish the step, save, leave. */
extern atomic_bool run_stop_requested;

/* Called by another thread than run_job's, which waits for signals. */
void run_ask_to_stop(void);
/* A second `number` came: other processes are told, and a report is left. The caller then ends the
 * process. */
void run_stop_at_once(int number);
/* The same when a mapped file was cut short: `why` names it. */
void run_lost_file(const char *why);

/* Of this process: true from when all its ranks have done the first step until the first of them
 * has done the last one. Nothing may be allocated meanwhile. Tests watch it. */
extern atomic_bool run_is_steady;

/* Options of resume that the command line did not give come from the plan. */
RunOptions run_defaults(const Plan *plan);

/* True: the run has ended in good order, and the status code says how: STATUS_DONE or
 * STATUS_STOPPED. */
bool run_job(const Plan *plan, const RunOptions *options, Status *status);

#endif
