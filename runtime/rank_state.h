/* rank_state.h -- one rank, for the files that carry it through its life: rank.c opens and closes
 * it, rank_steps.c trains, rank_asked.c hears requests, rank_blame.c says where a number went
 * wrong, rank_save.c keeps its state, rank_report.c tells what it did. */
#ifndef LOCKSTEP_RANK_STATE_H
#define LOCKSTEP_RANK_STATE_H

#include "runtime/comm/nccl.h"
#include "runtime/data/staging.h"
#include "runtime/device/arena.h"
#include "runtime/device/gpu_watch.h"
#include "runtime/metrics/report.h"
#include "runtime/observe/observe.h"
#include "runtime/process/asked.h"
#include "runtime/rank.h"
#include "runtime/replay.h"
#include "runtime/resume.h"

/* A step between its start and its end. */
typedef struct Underway {
  int64_t start_ns;
  int64_t data_wait_ns;
  const void *samples; /* given back when it has ended well */
} Underway;

/* What the ranks tell each other of themselves. */
typedef struct RankFacts {
  Peak peak;
  uint64_t planned_bytes;       /* in blocks as memory is given out */
  uint64_t addressed_bytes;     /* end of what records have named */
  uint64_t touched_bytes;       /* in pages that somebody has used; 0 when it is not measured */
  char cores[CORES_TEXT_BYTES]; /* that its threads are bound to; "": the system places them */
} RankFacts;

/* How far a request by a file is. */
typedef enum AskedState {
  ASKED_NOT,
  ASKED_SEEN,
  ASKED_SENT, /* to all ranks */
  ASKED_STAYS /* it is done, and its file cannot be removed */
} AskedState;

typedef struct Rank {
  const Run *run;
  const Plan *plan;
  const PlanJob *job;
  int32_t number;
  Arenas arena; /* a peer may read it until this rank has left */
  Replay replay;
  Comm *comm;
  NcclWorld *nccl;  /* NULL: `comm` moves what records name */
  Flight *flight;   /* where it writes what it does */
  Observe *observe; /* NULL: nobody asked how its steps go */
  RunStart start;
  Staging *staging;
  StagingSetup staging_setup;
  Threads *threads;
  const PlanProgram *init;
  const PlanProgram *train;
  const PlanProgram *eval;
  int64_t
      started; /* the last step that was, and the last that has ended: the device may be ahead */
  int64_t ended;
  Underway underway[CONTROL_DEPTH_MAX];
  int64_t ended_ns;   /* when `ended` did */
  int64_t sent_bytes; /* up to then */
  bool asks_stop; /* some rank was asked to: all hear it, a step late where the device is ahead */
  bool asks_checkpoint;
  AskedState asked[ASKED_COUNT]; /* rank 0's */
  int64_t looked_ns;             /* for them */
  int64_t saved_step; /* of the newest checkpoint that this run wrote or came from; 0: none */
  int64_t saved_ns;   /* when */
  char saved_path[CHECKPOINT_PATH_BYTES];
  CheckpointStore store; /* of a rank that writes */
  RankFacts facts;
  RankFacts *all;     /* of every rank, when they were gathered last */
  Report *report;     /* rank 0's, else NULL */
  const char **cores; /* of every rank, for the report */
  int32_t holding;    /* communicators that were told of its arena */
  GpuFacts gpu;       /* of a rank that has one */
  GpuWatch watch;     /* rank 0's, of its GPU */
  bool stopped;
} Rank;

int64_t rank_now_ns(void);
void rank_note_phase(const Rank *rank, FlightPhase phase, int64_t step);

/* Of all ranks. False: another rank has failed. */
bool rank_meet(Rank *rank, Status *status);
/* Also a meeting: everybody's facts, in `all`. */
bool rank_gather_facts(Rank *rank, Status *status);

/* ---- rank_gpu.c: of a rank on processors they do nothing */

/* Chooses its GPU, and opens NCCL where there are others. Before its memory is mapped. */
bool rank_open_gpu(Rank *rank, Status *status);
/* With its memory mapped: NCCL is told of it, where that was asked for. */
void rank_hold_arena(Rank *rank);
/* After it is bound. */
void rank_give_streams(const Rank *rank);
/* Of rank 0, with its report open: NVML is asked from now on, until gpu_watch_close. */
void rank_watch_gpu(Rank *rank);
/* Of the GPU's memory, by whomever; -1: it has none, or does not tell. */
int64_t rank_gpu_used_bytes(const Rank *rank);
/* Which algorithms products have got, beside the plan: by the rank that reports, when all are
 * bound. */
bool rank_keep_choices(const Rank *rank, Status *status);

/* ---- rank_steps.c */

/* Consumed by the steps before this one. */
int64_t rank_samples_before(const Rank *rank, int64_t step);
/* What the host sets of control before a step. */
Control rank_control_in(const Rank *rank, int64_t step);
/* From the first step to the last, or to the one after which it is asked to stop. */
bool rank_run_steps(Rank *rank, Status *status);

/* ---- rank_blame.c */

/* False: the step's loss or gradient is no number. The rank on which it began says so, and where;
 * the others are its echoes. */
bool rank_check_finite(Rank *rank, int64_t step, const Control *out, Status *status);

/* ---- rank_asked.c: of rank 0 */

void rank_look_for_requests(Rank *rank);
/* What the file asked for has been done: it is removed. */
void rank_request_done(Rank *rank, Asked what);

/* ---- rank_save.c */

/* Whether the job has any. */
bool rank_checkpoints(const Rank *rank);
bool rank_wants_checkpoint(const Rank *rank, int64_t step);
/* False with status code 0: the checkpoint was damaged. */
bool rank_restore(Rank *rank, Status *status);
bool rank_open_store(Rank *rank, Status *status);
bool rank_save(Rank *rank, int64_t step, Status *status);

/* ---- rank_report.c: of rank 0 */

bool rank_open_report(Rank *rank, Status *status);
bool rank_close_report(Rank *rank, Status *status);
/* Lines for people of how ranks compare. */
void rank_tell_stragglers(Rank *rank);
/* Of every rank, before the last meeting: what memory it has used. */
void rank_note_memory(Rank *rank);

#endif
