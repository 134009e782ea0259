/* rank_save.c -- the state of a rank to disk and back. */
#include <math.h>
#include <stdlib.h>

#include "runtime/plan/plan_job.h"
#include "runtime/rank/rank_state.h"

bool rank_checkpoints(const Rank *rank) {
  return job_checkpoint_every_steps(rank->plan) > 0 || job_checkpoint_every_s(rank->plan) > 0;
}

bool rank_wants_checkpoint(const Rank *rank, int64_t step) {
  if (rank->number != 0 || !rank_checkpoints(rank)) return false;
  if (job_checkpoint_every_steps(rank->plan) > 0)
    return step % job_checkpoint_every_steps(rank->plan) == 0;
  return rank_now_ns() - rank->saved_ns >= job_checkpoint_every_s(rank->plan) * 1000000000LL;
}

/* Ranks that differ only along axes on which state is the same have equal state: the first of them
 * writes it. */
static bool writes_state(const Rank *rank) {
  const Mesh *mesh = &rank->run->mesh;
  return checkpoint_writer(mesh, job_state_axes(rank->plan), rank->number) ==
         mesh_number(mesh, rank->number);
}

/* A checkpoint reads and writes memory outside any record's operands. */
static void allow_arenas(const Rank *rank, bool allowed) {
  for (Tier tier = 0; tier < Tier_COUNT; tier++) {
    const Arena *arena = &rank->arena.tier[tier];
    if (arena->base == NULL) continue;
    if (allowed)
      hostile_allow(&rank->replay.hostile, arena->base, arena->size_bytes);
    else
      hostile_forbid(&rank->replay.hostile, arena->base, arena->size_bytes);
  }
}

/* The first step's values of slots that the checkpoint's job did not have. */
static bool restore_lasting(const Rank *rank, Status *status) {
  const Checkpoint *checkpoint = &rank->start.checkpoint;
  const CheckpointHeader *header = checkpoint->header;
  char name[LOSS_SCALE_NAME_BYTES];
  const char *init = checkpoint_setting(checkpoint, loss_scale_setting(LOSS_SCALE_OF_INIT, name));
  Control lasting = header->lasting;
  bool has_scale = (header->lasting_mask & CONTROL_BIT(CONTROL_loss_scale)) != 0;
  loss_scale_resume(rank->plan, has_scale && init ? strtod(init, NULL) : NAN, &lasting);
  return replay_write_lasting(&rank->replay, &lasting, status);
}

bool rank_restore(Rank *rank, Status *status) {
  RunStart *start = &rank->start;
  CheckpointTarget target = {rank->replay.device, rank->arena.base, rank->replay.class};
  allow_arenas(rank, true);
  bool restored = resume_load(rank->run, rank->number, rank->comm, start, &target, status);
  restored = restored && restore_lasting(rank, status);
  allow_arenas(rank, false);
  return restored;
}

static bool write_state(Rank *rank, int64_t step, Status *status) {
  CheckpointState state = {
      .device = rank->replay.device,
      .arena = rank->arena.base,
      .step = step,
      .samples = rank_samples_before(rank, step + 1),
      .lasting_mask = plan_slot_mask(rank->plan),
  };
  allow_arenas(rank, true);
  bool written = replay_read_lasting(&rank->replay, &state.lasting, status) &&
                 checkpoint_write(&rank->store, &state, status);
  allow_arenas(rank, false);
  return written;
}

/* Rank 0 makes and lists the folder and tells the others, which may then write there. */
bool rank_open_store(Rank *rank, Status *status) {
  const Run *run = rank->run;
  CheckpointStore *store = &rank->store;
  Comm *comm = rank->comm;
  if (!rank_checkpoints(rank)) return true;
  if (writes_state(rank) &&
      !checkpoint_store_open(store, run->plan, &run->mesh, rank->number, run->data_sum, status))
    return false;
  if (rank->number == 0 && !checkpoint_store_list(store, status)) return false;
  if (comm->ops->broadcast_bytes(comm, 0, &store->steps, sizeof store->steps)) return true;
  status->code = STATUS_ECHO;
  return false;
}

/* All ranks save after the same steps. Rank 0's file gets its final name when all have written
 * theirs, and only then are older checkpoints removed. */
bool rank_save(Rank *rank, int64_t step, Status *status) {
  if (rank->saved_step == step) return true;
  int64_t start_ns = rank_now_ns();
  rank_note_phase(rank, FLIGHT_SAVING, step);
  if (writes_state(rank) && !write_state(rank, step, status)) return false;
  bool in_parts = job_state_axes(rank->plan) != 0;
  if (in_parts && !rank_meet(rank, status)) return false;
  if (rank->number == 0) {
    if (!checkpoint_publish(&rank->store, step, status)) return false;
    checkpoint_remove_oldest(&rank->store, step);
  }
  if (in_parts && !rank_meet(rank, status)) return false;
  if (rank->number != 0 && writes_state(rank)) checkpoint_remove_oldest(&rank->store, step);
  rank->saved_step = step;
  rank->saved_ns = rank_now_ns();
  checkpoint_path(rank->saved_path, job_checkpoint_dir(rank->plan), step, 0);
  if (rank->number == 0)
    report_note(rank->report, "saved    %s   %.0f ms", rank->saved_path,
                (double)(rank->saved_ns - start_ns) / 1e6);
  return true;
}
