/* rank_save.c -- the state of a rank to disk and back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/interval.h"
#include "runtime/plan/plan_job.h"
#include "runtime/rank/rank_state.h"

bool rank_checkpoints(const Rank *rank) {
  return job_checkpoint_every_steps(rank->plan) > 0 || job_checkpoint_every_s(rank->plan) > 0;
}

bool rank_wants_checkpoint(const Rank *rank, int64_t step) {
  if (rank->number != 0 || !rank_checkpoints(rank)) return false;
  if (checkpoint_is_milestone(&rank->store, step)) return true;
  if (job_checkpoint_every_steps(rank->plan) > 0)
    return step % job_checkpoint_every_steps(rank->plan) == 0;
  return rank_now_ns() - rank->saved_ns >= rank->saves.every_ns;
}

/* Seconds between failures of any node, by cluster.mtbf; 0: the interval is not chosen. */
static double failure_seconds(const Plan *plan) {
  const PlanSetting *mtbf = plan_setting(plan, "cluster.mtbf");
  const PlanSetting *nodes = plan_setting(plan, "cluster.nodes");
  if (job_auto_every_s(plan) <= 0 || mtbf == NULL) return 0;
  return mtbf->real / (double)(nodes != NULL && nodes->count > 0 ? nodes->count : 1);
}

void rank_begin_saves(Rank *rank) {
  rank->saves = (RankSaves){.every_ns = job_checkpoint_every_s(rank->plan) * 1000000000LL,
                            .failure_s = failure_seconds(rank->plan)};
}

/* With checkpoint.every = "auto" what saves have taken so far replaces the prediction. */
static void count_save(Rank *rank, int64_t stall_ns, int64_t write_ns) {
  RankSaves *saves = &rank->saves;
  saves->count++;
  saves->failed_in_row = 0;
  saves->stall_ns += stall_ns;
  saves->write_ns += write_ns;
  if (saves->failure_s <= 0) return;
  const double count = (double)saves->count;
  saves->every_ns =
      (int64_t)(1e9 * interval_best_s((double)saves->stall_ns / 1e9 / count,
                                      (double)saves->write_ns / 1e9 / count, saves->failure_s));
}

void rank_allow_arenas(const Rank *rank, bool allowed) {
  for (Tier tier = 0; tier < Tier_COUNT; tier++) {
    const Arena *arena = &rank->arena.tier[tier];
    if (arena->base == NULL) continue;
    if (allowed)
      hostile_allow(&rank->replay.hostile, arena->base, arena->size_bytes);
    else
      hostile_forbid(&rank->replay.hostile, arena->base, arena->size_bytes);
  }
}

/* A control value that the checkpoint lacks stays as init has left it; a loss scale follows the
 * keys of both jobs. */
static bool restore_slots(Rank *rank, Status *status) {
  const Checkpoint *checkpoint = &rank->start.checkpoint;
  const ManifestFacts *facts = &checkpoint->manifest.facts;
  Control saved = facts->lasting, lasting = {0};
  char name[LOSS_SCALE_NAME_BYTES];
  if (!replay_read_lasting(&rank->replay, &lasting, status)) return false;
  for (ControlSlot slot = 0; slot < CONTROL_SLOT_COUNT; slot++)
    if ((facts->lasting_mask & CONTROL_BIT(slot)) != 0)
      memcpy(control_value(&lasting, slot), control_value(&saved, slot), CONTROL_SLOT_BYTES);
  const char *init = checkpoint_setting(checkpoint, loss_scale_setting(LOSS_SCALE_OF_INIT, name));
  bool has_scale = (facts->lasting_mask & CONTROL_BIT(CONTROL_loss_scale)) != 0;
  loss_scale_resume(rank->plan, has_scale && init ? strtod(init, NULL) : NAN, &lasting);
  return replay_write_lasting(&rank->replay, &lasting, status);
}

bool rank_restore(Rank *rank, Status *status) {
  RunStart *start = &rank->start;
  CheckpointTarget target = {
      .device = rank->replay.device, .arena = rank->arena.base, .class = rank->replay.class};
  rank_allow_arenas(rank, true);
  bool restored = resume_load(rank->run, rank->number, rank->comm, start, &target, status);
  if (restored) {
    restored = restore_slots(rank, status);
  }
  rank_allow_arenas(rank, false);
  return restored;
}

bool rank_read_lasting(Rank *rank, Control *lasting, Status *status) {
  rank_allow_arenas(rank, true);
  const bool read = replay_read_lasting(&rank->replay, lasting, status);
  rank_allow_arenas(rank, false);
  return read;
}

CheckpointState rank_state_of(const Rank *rank, int64_t step) {
  return (CheckpointState){.device = rank->replay.device,
                           .arena = rank->arena.base,
                           .step = step,
                           .samples = rank_samples_before(rank, step + 1)};
}

/* Rank 0 makes and lists the folder and tells the others, which may then write there. */
bool rank_open_store(Rank *rank, Status *status) {
  const Run *run = rank->run;
  CheckpointStore *store = &rank->store;
  Comm *comm = rank->comm;
  if (!rank_checkpoints(rank)) return true;
  (void)snprintf(rank->record_path, sizeof rank->record_path, "%.4000s/job.json",
                 job_run_dir(rank->plan));
  const CheckpointData data = {
      .sum = run->data_sum,
      .weights_sum = rank->start.weights_sum,
      .epoch_samples = run->data_sum != 0 && run->train.mix.count == 0 ? run->train.count : 0};
  if (!checkpoint_store_open(store, run->plan, &run->mesh, rank->number, rank->number == 0, data,
                             status))
    return false;
  if (rank->number == 0 && !checkpoint_store_list(store, status)) return false;
  if (comm->ops->broadcast_bytes(comm, 0, &store->steps, sizeof store->steps))
    return rank_async_open(rank, status) && rank_kept_open(rank, status);
  status->code = STATUS_ECHO;
  return false;
}

/* ---- how it ended */

/* A rank's word about a save. */
enum { SAVE_DONE, SAVE_FAILED, SAVE_LOST /* and no later one can succeed */ };

/* The run continues without it, and tries again when the next is due. */
static bool tell_failed(Rank *rank, int64_t step, int32_t bad, Status *why, Status *status) {
  enum { FAILED_MOST = 3 };
  char path[CHECKPOINT_PATH_BYTES];
  RankSaves *saves = &rank->saves;
  Comm *comm = rank->comm;
  if (!comm->ops->broadcast_bytes(comm, bad, why->text, sizeof why->text)) {
    status->code = STATUS_ECHO;
    return false;
  }
  saves->failed++, saves->failed_in_row++;
  rank->async.put_off = 0;
  if (rank->number == 0) {
    checkpoint_new_path(path, &rank->store, step);
    (void)checkpoint_remove_folder(path);
    report_save_failed(rank->report, step, why->text);
    rank_request_done(rank, ASKED_SAVE);
  }
  const bool ends = rank->async.told[bad] == SAVE_LOST || saves->failed_in_row == FAILED_MOST;
  if (!ends) return true;
  *status = *why;
  if (rank->number != bad) status->code = STATUS_ECHO;
  return false;
}

bool rank_save_agree(Rank *rank, int64_t step, Status *why, bool *good, Status *status) {
  const Comm *comm = rank->comm;
  const int32_t ranks = rank->run->mesh.rank_count;
  const int32_t own = why->code == 0 ? SAVE_DONE : rank->store.is_lost ? SAVE_LOST : SAVE_FAILED;
  int32_t *told = rank->async.told, bad = 0;
  if (!comm->ops->gather_bytes(rank->comm, &own, told, sizeof own)) {
    status->code = STATUS_ECHO;
    return false;
  }
  while (bad < ranks && told[bad] == SAVE_DONE)
    bad++;
  *good = bad == ranks;
  return *good || tell_failed(rank, step, bad, why, status);
}

void rank_note_saved(Rank *rank, int64_t step, int64_t stall_ns, int64_t write_ns) {
  rank->saved_step = step;
  count_save(rank, stall_ns, write_ns);
  checkpoint_path(rank->saved_path, job_checkpoint_dir(rank->plan), step);
  if (rank->number == 0)
    report_save(rank->report, &(SaveFacts){.step = step,
                                           .path = rank->saved_path,
                                           .stall_ns = stall_ns,
                                           .write_ns = write_ns,
                                           .put_off = rank->async.put_off});
  rank->async.put_off = 0;
}

/* ---- a save while all ranks wait */

static bool publish(Rank *rank, const CheckpointState *state, Status *status) {
  if (!checkpoint_publish(&rank->store, state, rank->record_path, status)) return false;
  checkpoint_remove_oldest(&rank->store, state->step);
  return true;
}

/* A failure is in `why`. */
static void write_part(Rank *rank, const CheckpointState *state, Status *why) {
  rank_allow_arenas(rank, true);
  (void)checkpoint_write(&rank->store, state, why);
  rank_allow_arenas(rank, false);
}

/* All ranks save after the same steps. The folder gets its name when all have written their parts,
 * and only then are older checkpoints removed. */
bool rank_save(Rank *rank, int64_t step, bool last, Status *status) {
  if (rank->saved_step == step) return true;
  const int64_t start_ns = rank_now_ns();
  CheckpointState state = rank_state_of(rank, step);
  Status why = {0};
  bool good;
  rank_note_phase(rank, FLIGHT_SAVING, step);
  if (rank->number == 0) (void)checkpoint_begin(&rank->store, step, &why);
  if (!rank_read_lasting(rank, &state.lasting, status) || !rank_meet(rank, status)) return false;
  if (why.code == 0) write_part(rank, &state, &why);
  if (!rank_save_agree(rank, step, &why, &good, status)) return false;
  if (good && rank->number == 0) (void)publish(rank, &state, &why);
  if (good && !rank_save_agree(rank, step, &why, &good, status)) return false;
  const int64_t took_ns = rank_now_ns() - start_ns;
  rank->saved_ns = rank_now_ns();
  rank->save_wait_ns += took_ns;
  if (good) rank_note_saved(rank, step, took_ns, took_ns);
  if (good || !last) return true;
  *status = why; /* of this rank; others did not fail */
  if (why.code == 0) status->code = STATUS_ECHO;
  return false;
}
