/* rank_async.c -- saves beside the steps: the state is copied, a thread writes the copy, and ranks
 * tell each other with the control values of steps how far they are.
 *
 *   step s over | snapshot | s + 1 ... | parts: summed, written, synced | all done | named | saved
 *                 copies     each rank tells                              rank 0 tells
 *
 * The sums are the same on all ranks after the same step, so all ranks take a save for over, or for
 * failed, after the same step. Nothing here communicates while a step runs. */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/walk.h"
#include "runtime/rank/rank_state.h"

/* ---- the copies of the plan's program */

static bool count_copies(void *context, const Position *at, Status *status) {
  RankAsync *async = context;
  const PlanCall *call = at->call;
  (void)status;
  async->copy_count += (int32_t)async->plan->segments[call->segment].records_count;
  return true;
}

typedef struct FolderListing {
  Replay *replay;
  CheckpointCopy *next;
} FolderListing;

static bool list_copies(void *context, const Position *at, Status *status) {
  FolderListing *listing = context;
  const Plan *plan = listing->replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  (void)status;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    const Work work = replay_work(listing->replay, at, record);
    *listing->next++ =
        (CheckpointCopy){work.operand[0], work.operand[1],
                         (uint64_t)listing->replay->operand_bytes[record->operands_first]};
  }
  return true;
}

static int by_address(const void *a, const void *b) {
  const CheckpointCopy *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

bool rank_async_open(Rank *rank, Status *status) {
  RankAsync *async = &rank->async;
  async->plan = rank->plan;
  async->told = calloc((size_t)rank->run->mesh.rank_count, sizeof *async->told);
  if (async->told == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for saves");
  async->program = replay_program(&rank->replay, PROGRAM_SNAPSHOT);
  if (async->program == NULL) return true;
  (void)walk_calls(rank->plan, async->program, count_copies, async, status);
  async->copy = calloc((size_t)async->copy_count + 1, sizeof *async->copy);
  if (async->copy == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for saves");
  FolderListing listing = {&rank->replay, async->copy};
  (void)walk_calls(rank->plan, async->program, list_copies, &listing, status);
  qsort(async->copy, (size_t)async->copy_count, sizeof *async->copy, by_address);
  return writer_open(&async->writer, &rank->store, rank->record_path, status);
}

void rank_async_close(Rank *rank) {
  writer_close(&rank->async.writer);
  free(rank->async.copy);
  free(rank->async.told);
}

/* ---- a save */

bool rank_async_begin(Rank *rank, int64_t step, Status *status) {
  RankAsync *async = &rank->async;
  const int64_t start_ns = rank_now_ns();
  rank_note_phase(rank, FLIGHT_SAVING, step);
  async->state = rank_state_of(rank, step);
  async->state.copy = async->copy;
  async->state.copy_count = async->copy_count;
  async->why = (Status){0};
  if (rank->number == 0 && !checkpoint_begin(&rank->store, step, &async->why))
    async->why.code = STATUS_WORLD;
  if (!rank_read_lasting(rank, &async->state.lasting, status) || !rank_meet(rank, status) ||
      !replay_snapshot(&rank->replay, async->program, status))
    return false;
  async->is_under_way = true;
  async->is_copied = async->is_told = async->is_naming = async->has_failed = false;
  async->is_asked = rank->asked[ASKED_SAVE] == ASKED_SENT;
  async->done = async->failed = 0;
  async->put_off = async->due_step;
  async->due_step = 0;
  async->begun_ns = rank->saved_ns = start_ns;
  async->stall_ns = rank_now_ns() - start_ns;
  rank->save_wait_ns += async->stall_ns;
  return true;
}

/* Lets the writer begin when the copies are over. */
static void look_at_copies(Rank *rank) {
  RankAsync *async = &rank->async;
  if (!async->is_under_way || async->is_copied || !replay_snapshot_is_over(&rank->replay)) return;
  async->is_copied = true;
  if (async->why.code == 0) writer_start(&async->writer, WRITER_PART, &async->state);
}

void rank_async_tell(Rank *rank, Control *in) {
  RankAsync *async = &rank->async;
  look_at_copies(rank);
  if (!async->is_under_way || !async->is_copied || async->is_told) return;
  if (!writer_rests(&async->writer)) return;
  async->is_told = true;
  if (async->why.code == 0) async->why = async->writer.why;
  *(async->why.code == 0 ? &in->parts_done : &in->parts_failed) = 1;
}

static void end_well(Rank *rank) {
  RankAsync *async = &rank->async;
  async->is_under_way = false;
  rank_note_saved(rank, async->state.step, async->stall_ns, rank_now_ns() - async->begun_ns);
  if (rank->number == 0 && async->is_asked) rank_request_done(rank, ASKED_SAVE);
}

/* When all ranks have told, rank 0 names the checkpoint, and tells once more. */
void rank_async_hear(Rank *rank, const Control *out) {
  RankAsync *async = &rank->async;
  if (!async->is_under_way || async->has_failed) return;
  look_at_copies(rank);
  async->done += (int32_t)out->parts_done;
  async->failed += (int32_t)out->parts_failed;
  const int32_t ranks = rank->run->mesh.rank_count;
  if (async->done + async->failed < ranks + async->is_naming) return;
  async->has_failed = async->failed > 0;
  if (async->has_failed) return;
  if (async->is_naming) {
    async->took_steps = rank->ended - async->state.step;
    end_well(rank);
    return;
  }
  async->is_naming = true;
  if (rank->number != 0) return;
  async->is_told = false;
  writer_start(&async->writer, WRITER_NAME, &async->state);
}

/* The rank's progress with the save, between two of its slices. */
static bool agree(Rank *rank, bool *good, Status *status) {
  RankAsync *async = &rank->async;
  writer_await(&async->writer);
  if (async->why.code == 0) async->why = async->writer.why;
  return rank_save_agree(rank, async->state.step, &async->why, good, status);
}

bool rank_async_end(Rank *rank, Status *status) {
  RankAsync *async = &rank->async;
  const int64_t start_ns = rank_now_ns();
  bool good = true;
  if (!async->is_under_way) return true;
  rank_note_phase(rank, FLIGHT_SAVING, async->state.step);
  if (!replay_snapshot_await(&rank->replay, status)) return false;
  look_at_copies(rank);
  if (!async->is_naming) {
    if (!agree(rank, &good, status)) return false;
    if (good && rank->number == 0) writer_start(&async->writer, WRITER_NAME, &async->state);
  }
  if (good && !agree(rank, &good, status)) return false;
  async->stall_ns += rank_now_ns() - start_ns;
  rank->save_wait_ns += rank_now_ns() - start_ns;
  if (good) end_well(rank);
  async->is_under_way = async->has_failed = false;
  return true;
}

/* ---- when to save */

/* One that was put off, and would still be under way at the end, is left to the save of the last
 * step, which then need not wait for it. Steps are counted, not time: ranks must agree. */
static bool is_left_to_last(const Rank *rank, int64_t step) {
  const RankAsync *async = &rank->async;
  return async->due_step > 0 && step + async->took_steps >= rank->run->last_step &&
         !checkpoint_is_milestone(&rank->store, step);
}

static bool save_last(Rank *rank, int64_t step, Status *status) {
  const int64_t start_ns = rank_now_ns();
  if (!rank_async_end(rank, status)) return false;
  rank->async.put_off = rank->async.due_step;
  rank->async.due_step = 0;
  const bool saved = rank_save(rank, step, true, status);
  rank->saves.end_ns = rank_now_ns() - start_ns;
  return saved;
}

/* One that comes due while another is under way is put off until that is over; a milestone is not,
 * because it would get another number. */
bool rank_save_due(Rank *rank, int64_t step, bool last, Status *status) {
  RankAsync *async = &rank->async;
  if (last) return save_last(rank, step, status);
  if (async->program == NULL) return rank_save(rank, step, false, status);
  if (async->is_under_way && !checkpoint_is_milestone(&rank->store, step)) {
    rank->asks_checkpoint = true;
    if (async->due_step == 0) rank->saves.postponed++, async->due_step = step;
    return true;
  }
  if (is_left_to_last(rank, step)) return true;
  return rank_async_end(rank, status) && rank_async_begin(rank, step, status);
}
