/* rank_state.h -- one rank, for the files that implement it: rank.c opens and closes it,
 * rank_steps.c trains, rank_asked.c handles requests, rank_blame.c finds where a NaN began,
 * rank_save.c saves and loads its state, rank_async.c saves it beside steps, rank_kept.c keeps it
 * in memory, rank_report.c reports. */
#ifndef LOCKSTEP_RANK_STATE_H
#define LOCKSTEP_RANK_STATE_H

#include "runtime/comm/nccl.h"
#include "runtime/data/staging.h"
#include "runtime/device/arena.h"
#include "runtime/device/gpu_watch.h"
#include "runtime/metrics/report.h"
#include "runtime/observe/observe.h"
#include "runtime/plan/loss_scales.h"
#include "runtime/process/asked.h"
#include "runtime/process/cgroup.h"
#include "runtime/rank/rank.h"
#include "runtime/rank/rank_async.h"
#include "runtime/rank/rank_kept.h"
#include "runtime/rank/resume.h"
#include "runtime/replay/replay.h"
#include "runtime/replay/replay_look.h"

/* A step between its start and its end. */
typedef struct Underway {
  int64_t start_ns;
  int64_t data_wait_ns;
  const void *samples; /* given back when it has ended well */
  LossTargets targets; /* its summands of the targets that count */
} Underway;

/* Facts that ranks exchange about themselves. */
typedef struct RankFacts {
  Peak peak;
  uint64_t planned_bytes;        /* rounded up to whole blocks */
  uint64_t addressed_bytes;      /* end of the highest bytes that records have named */
  uint64_t touched_bytes;        /* in pages that were used; 0 if not measured */
  char gpu_uuid[GPU_UUID_BYTES]; /* "": it has none */
  /* cores that its threads are pinned to; "": the system places them */
  char cores[CORES_TEXT_BYTES];
} RankFacts;

/* The state of a request by file. */
typedef enum AskedState {
  ASKED_NOT,
  ASKED_SEEN,
  ASKED_SENT, /* to all ranks */
  ASKED_STAYS /* the request is done, but its file cannot be removed */
} AskedState;

/* The measured costs of saves of this start, and the interval between them. */
typedef struct RankSaves {
  int64_t count, postponed, failed, failed_in_row;
  int64_t stall_ns, end_ns; /* in which the ranks waited; of that, after the last step */
  int64_t write_ns;         /* from the beginning to the name */
  int64_t every_ns;         /* where they come due by time */
  double failure_s; /* with checkpoint.every = "auto": between failures of the job; else 0 */
} RankSaves;

enum { RANK_ATTENTIONS_MOST = 64 };

/* The loss scale, of a plan that has one. */
typedef struct RankScale {
  bool is_on;
  LossScale of;
  Control before; /* its lasting slots when the step that ends next began */
} RankScale;

/* Where the first number of a step that is not finite was made. */
enum { CAUSE_BYTES = 320 };
typedef struct RankCause {
  int32_t rank; /* -1: unknown */
  bool is_forward;
  char text[CAUSE_BYTES]; /* a sentence with a blank before it, or "" */
} RankCause;

struct Rank {
  const Run *run;
  const Plan *plan;
  PlanLosses losses;
  int32_t number;
  Arenas arena; /* peers may read it until this rank has left */
  Replay replay;
  Comm *comm;
  NcclWorld *nccl;  /* NULL: records communicate by `comm` */
  Flight *flight;   /* records the work that the rank is doing */
  Observe *observe; /* NULL: its steps are not observed */
  RunStart start;
  Staging *staging;
  StagingSetup staging_setup;
  Threads *threads;
  const PlanProgram *init;
  const PlanProgram *train;
  const PlanProgram *eval, *decode; /* of a sampled model prefill, decode; decode NULL: of others */
  int64_t started; /* the last step started, and the last one finished: the device may be ahead */
  int64_t ended;
  Underway underway[CONTROL_DEPTH_MAX];
  int64_t ended_ns;   /* when `ended` did */
  int64_t sent_bytes; /* up to then */
  RankScale scale;
  int64_t finite_every; /* steps; every value of these is looked at. 0: of the first; -1: of none */
  ReplayWatch looks;    /* at the step underway, if it is one of them */
  bool asks_stop; /* some rank was asked to stop; all learn of it, a step late if the device is
                     ahead */
  bool asks_checkpoint;
  AskedState asked[ASKED_COUNT]; /* rank 0's */
  int64_t looked_ns;             /* for them, and at its control group */
  CgroupCpus cpus;               /* of rank 0, at the last look */
  bool has_cpus;
  int64_t saved_step; /* of the newest checkpoint that this run wrote or came from; 0: none */
  int64_t saved_ns;   /* when */
  char saved_path[CHECKPOINT_PATH_BYTES];
  char record_path[CHECKPOINT_PATH_BYTES];
  int64_t save_wait_ns; /* since the last step ended */
  RankSaves saves;
  RankAsync async;
  RankKept kept;
  int64_t begun_ns, first_step_begun_ns, first_step_ns; /* of this start */
  CheckpointStore store;                                /* of a rank that writes */
  RankFacts facts;
  RankFacts *all;  /* of every rank, as gathered last */
  Report *report;  /* rank 0's, else NULL */
  int32_t holding; /* how many communicators have registered its arena */
  GpuFacts gpu;    /* of a rank that has one */
  AttentionTold attention[RANK_ATTENTIONS_MOST]; /* rank 0's: who runs it */
  GpuWatch watch;                                /* rank 0's, of its GPU */
  bool stopped;
  bool is_heard; /* the device tells of the works of the step underway */
  /* it has reported that times are of whole calls, and that a step has no times */
  bool told_coarse, told_lost;
  /* it has reported that a program is issued, because it could not be captured */
  bool told_graphs;
};

int64_t rank_now_ns(void);
void rank_note_phase(const Rank *rank, FlightPhase phase, int64_t step);

/* Waits for all ranks. False: another rank has failed. */
bool rank_meet(Rank *rank, Status *status);
/* Also a barrier: gathers the facts of all ranks into `all`. */
bool rank_gather_facts(Rank *rank, Status *status);

/* ---- rank_gpu.c: these do nothing on processors */

/* Chooses its GPU, and opens NCCL if there are other ranks. Before its memory is mapped. */
bool rank_open_gpu(Rank *rank, Status *status);
/* After its memory is mapped: registers it with NCCL, if that was asked for. */
void rank_hold_arena(Rank *rank);
/* After it is bound. */
void rank_give_streams(const Rank *rank);
/* For rank 0, after its report is open: samples NVML until gpu_watch_close. */
void rank_watch_gpu(Rank *rank);
/* Used bytes of the GPU's memory, by all programs; -1: no GPU, or unknown. */
int64_t rank_gpu_used_bytes(const Rank *rank);
/* All ranks: from here on they use the same algorithms for products of the same shape. */
bool rank_share_choices(Rank *rank, Status *status);
/* Writes the algorithms that products use. The reporting rank calls it, after all are bound. */
bool rank_keep_choices(const Rank *rank, Status *status);

/* ---- rank_steps.c */

/* Samples consumed by the steps before this one. */
int64_t rank_samples_before(const Rank *rank, int64_t step);
/* The control values that the host sets before a step, apart from its targets. */
Control rank_control_in(const Rank *rank, int64_t step);
/* Runs from the first step to the last, or until it is asked to stop. */
bool rank_run_steps(Rank *rank, Status *status);

/* ---- rank_blame.c */

/* False: the step's loss or gradient norm is not finite. The rank on which this began reports it
 * and where; the others are its echoes. */
bool rank_check_finite(Rank *rank, int64_t step, const Control *out, Status *status);

/* False: the device is ahead of the host, or its memory cannot be read. */
bool rank_can_look(const Rank *rank, int64_t step);
/* Runs a step that makes no update once more, to find the record where it began. Every rank calls
 * it. */
bool rank_find_cause(Rank *rank, int64_t step, RankCause *cause, Status *status);

/* On every rank, where memory cannot be looked at while a step runs (GPUs), and no work is under
 * way: names the gradients whose squares are not finite, of the first rank that has some. */
bool rank_find_squares(Rank *rank, int64_t step, RankCause *cause, Status *status);
/* Waits for the steps that the device runs ahead of this one. */
bool rank_settle(Rank *rank, int64_t step, Status *status);

/* Before a step is started, and after it has ended: in some steps every value is looked at, and
 * what is not finite and has reached neither the loss nor a gradient is reported. False: another
 * rank has failed. */
bool rank_looks_at(const Rank *rank, int64_t step);
void rank_look_begin(Rank *rank, int64_t step);
bool rank_look_end(Rank *rank, int64_t step, const Control *out, Status *status);

/* ---- rank_scale.c */

/* After the state is restored. */
bool rank_scale_begin(Rank *rank, Status *status);
/* True if the step made no update, for its gradients overflowed. */
bool rank_skips(const Rank *rank, const Control *out);
/* False: no loss scale helps any more. The state of the last update is saved. */
/* True if an overflow of the step that ends next would end the run. */
bool rank_storm_nears(const Rank *rank);
bool rank_check_skip(Rank *rank, int64_t step, const Control *out, Status *status);

/* ---- rank_asked.c: of rank 0 */

void rank_look_for_requests(Rank *rank);
/* Removes the file when its request has been carried out. */
void rank_request_done(Rank *rank, Asked what);

/* ---- rank_save.c */

/* True if the job has checkpoints. */
bool rank_checkpoints(const Rank *rank);
bool rank_wants_checkpoint(const Rank *rank, int64_t step);
void rank_begin_saves(Rank *rank);
/* Writes RUN/model: config.json, tensors.json and the tokenizer, which export reads. Rank 0. */
bool rank_keep_model(const Rank *rank, Status *status);
bool rank_take_weights(Rank *rank, Status *status);
/* False with status code 0: the checkpoint was damaged. */
bool rank_restore(Rank *rank, Status *status);
bool rank_open_store(Rank *rank, Status *status);
CheckpointState rank_state_of(const Rank *rank, int64_t step);
bool rank_read_lasting(Rank *rank, Control *lasting, Status *status);
/* While all ranks wait. A failure ends the run if it is the third in a row, or the `last` save. */
bool rank_save(Rank *rank, int64_t step, bool last, Status *status);
/* All ranks learn whether all have done what they had to do; `why` is this rank's failure, code 0:
 * none. False: the run ends. */
bool rank_save_agree(Rank *rank, int64_t step, Status *why, bool *good, Status *status);
void rank_note_saved(Rank *rank, int64_t step, int64_t stall_ns, int64_t write_ns);
/* A checkpoint reads and writes memory outside any record's operands. */
void rank_allow_arenas(const Rank *rank, bool allowed);

/* ---- rank_drill.c */

/* After the first step: saves, reads back and compares, if checkpoint.drill wants it. False: what
 * is read is not what memory has, or cannot be read. */
bool rank_drill(Rank *rank, Status *status);

/* ---- rank_report.c: of rank 0 */

bool rank_open_report(Rank *rank, Status *status);
bool rank_close_report(Rank *rank, Status *status);
/* The user asks when records run: --trace, --ranks-every. */
bool rank_is_asked_times(const Rank *rank);
void rank_tell_stragglers(Rank *rank); /* how ranks compare */
/* Gathers how much memory every rank has used, at the last barrier. */
void rank_note_memory(Rank *rank);

#endif
