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
static void count_save(Rank *rank, int64_t ns) {
  RankSaves *saves = &rank->saves;
  saves->count++;
  saves->stall_ns += ns;
  if (saves->failure_s <= 0) return;
  double save_s = (double)saves->stall_ns / 1e9 / (double)saves->count;
  saves->every_ns = (int64_t)(1e9 * interval_best_s(save_s, save_s, saves->failure_s));
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

/* Weights of a checkpoint of ours; its moments and counts are left. */
static bool take_checkpoint(const Rank *rank, const CheckpointSearch *search,
                            CheckpointTarget target, Status *status) {
  Checkpoint own = {0};
  CheckpointFault fault = CHECKPOINT_WHOLE;
  target.weights_only = true;
  bool found = checkpoint_find(search, &own, &fault, status);
  bool taken = found && checkpoint_restore(search, &own, &target, &fault, status);
  checkpoint_close(&own);
  if (!found && status->code == 0)
    return status_fail(status, STATUS_USER, "%s: there is no such checkpoint",
                       job_weights(rank->plan));
  return taken;
}

/* A run that begins takes the weights of the model's files, if its plan names some. */
bool rank_take_weights(Rank *rank, Status *status) {
  const Run *run = rank->run;
  const CheckpointTarget target = {
      .device = rank->replay.device, .arena = rank->arena.base, .class = rank->replay.class};
  int64_t below = INT64_MAX;
  const CheckpointSearch search = {.plan = rank->plan,
                                   .mesh = &run->mesh,
                                   .rank = rank->number,
                                   .comm = rank->comm,
                                   .path = job_weights(rank->plan),
                                   .below = &below};
  if (run->weights.set.file_count == 0 && !run->weights.is_checkpoint) return true;
  rank_allow_arenas(rank, true);
  bool taken = run->weights.is_checkpoint
                   ? take_checkpoint(rank, &search, target, status)
                   : weights_install(&search, &run->weights, &target, status);
  rank_allow_arenas(rank, false);
  return taken;
}

static bool write_state(Rank *rank, CheckpointState *state, Status *status) {
  rank_allow_arenas(rank, true);
  bool written = replay_read_lasting(&rank->replay, &state->lasting, status) &&
                 checkpoint_write(&rank->store, state, status);
  rank_allow_arenas(rank, false);
  return written;
}

/* Rank 0 makes and lists the folder and tells the others, which may then write there. */
bool rank_open_store(Rank *rank, Status *status) {
  const Run *run = rank->run;
  CheckpointStore *store = &rank->store;
  Comm *comm = rank->comm;
  if (!rank_checkpoints(rank)) return true;
  const CheckpointData data = {run->data_sum, run->data_sum != 0 ? run->train.count : 0};
  if (!checkpoint_store_open(store, run->plan, &run->mesh, rank->number, data, status))
    return false;
  if (rank->number == 0 && !checkpoint_store_list(store, status)) return false;
  if (comm->ops->broadcast_bytes(comm, 0, &store->steps, sizeof store->steps)) return true;
  status->code = STATUS_ECHO;
  return false;
}

static bool publish(Rank *rank, const CheckpointState *state, Status *status) {
  char record[CHECKPOINT_PATH_BYTES];
  (void)snprintf(record, sizeof record, "%.4000s/job.json", job_run_dir(rank->plan));
  if (!checkpoint_publish(&rank->store, state, record, status)) return false;
  checkpoint_remove_oldest(&rank->store, state->step);
  return true;
}

/* All ranks save after the same steps. The folder gets its name when all have written their parts,
 * and only then are older checkpoints removed. */
bool rank_save(Rank *rank, int64_t step, Status *status) {
  if (rank->saved_step == step) return true;
  int64_t start_ns = rank_now_ns();
  CheckpointState state = {
      .device = rank->replay.device,
      .arena = rank->arena.base,
      .step = step,
      .samples = rank_samples_before(rank, step + 1),
  };
  rank_note_phase(rank, FLIGHT_SAVING, step);
  if (rank->number == 0 && !checkpoint_begin(&rank->store, step, status)) return false;
  if (!rank_meet(rank, status) || !write_state(rank, &state, status) || !rank_meet(rank, status) ||
      (rank->number == 0 && !publish(rank, &state, status)) || !rank_meet(rank, status))
    return false;
  rank->saved_step = step;
  rank->saved_ns = rank_now_ns();
  count_save(rank, rank->saved_ns - start_ns);
  checkpoint_path(rank->saved_path, job_checkpoint_dir(rank->plan), step);
  if (rank->number == 0)
    report_note(rank->report, "saved    %s   %.0f ms", rank->saved_path,
                (double)(rank->saved_ns - start_ns) / 1e6);
  return true;
}
