/* rank_async.h -- saves beside the steps. Where the plan has no snapshots, all ranks wait for each
 * save. Part of rank_state.h. */
#ifndef LOCKSTEP_RANK_ASYNC_H
#define LOCKSTEP_RANK_ASYNC_H

#include "runtime/checkpoint/writer.h"
#include "runtime/plan/control.h"

typedef struct Rank Rank;

typedef struct RankAsync {
  const Plan *plan;
  const PlanProgram
      *program;         /* NULL: the plan has no snapshots, and all ranks wait for each save */
  CheckpointCopy *copy; /* the bytes that it copies, by address */
  int32_t copy_count;
  CheckpointWriter writer;
  CheckpointState state; /* being saved */
  Status why;            /* of this rank's failure; code 0: none */
  bool is_under_way, is_copied;
  bool is_told;   /* this rank's answer has been sent */
  bool is_naming; /* all parts are written */
  bool has_failed, is_asked;
  int32_t done, failed; /* reports of all ranks */
  int64_t begun_ns, stall_ns;
  int64_t took_steps;        /* from the snapshot to the name; 0: not known */
  int64_t due_step, put_off; /* of one that waits; of the one under way: when it was due. 0: none */
  int32_t *told;             /* by rank */
} RankAsync;

bool rank_async_open(Rank *rank, Status *status);
void rank_async_close(Rank *rank);
bool rank_async_begin(Rank *rank, int64_t step, Status *status);
/* With a step: this rank's answer about the save under way, and the answers of all ranks. */
void rank_async_tell(Rank *rank, Control *in);
void rank_async_hear(Rank *rank, const Control *out);
/* Waits until the save under way is over, if there is one. Between steps. */
bool rank_async_end(Rank *rank, Status *status);
/* A save is due after this step: begins it, waits for it, or puts it off. */
bool rank_save_due(Rank *rank, int64_t step, bool last, Status *status);

#endif
