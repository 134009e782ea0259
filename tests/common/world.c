#include "tests/common/world.h"

#include <string.h>

#include "runtime/boot/local.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_losses.h"

static const Plan *plan_of(const WorldRank *rank) {
  return rank->world->plan;
}

bool world_open(WorldRank *rank, Status *status) {
  const Plan *plan = rank->world->plan;
  const PlanClass *class = mesh_class(&rank->world->mesh, plan, rank->number);
  if (class == NULL) return status_fail(status, STATUS_OURS, "rank %d has no class", rank->number);
  if (!arenas_open(rank->arenas, plan, class, NULL, false, status)) return false;
  rank->threads = threads_new((int32_t)job_threads(plan_of(rank)), NULL);
  if (rank->threads == NULL) return status_fail(status, STATUS_WORLD, "cannot start threads");
  rank->comm = local_comm(rank->world->local, rank->number, rank->threads);
  return true;
}

int64_t world_validations(const WorldRank *rank) {
  const World *world = rank->world;
  if (replay_program(&rank->replay, PROGRAM_EVAL_STEP) == NULL) return 0;
  return samples_passes(&world->valid, mesh_replicas(&world->mesh));
}

static bool start_staging(WorldRank *rank, Status *status) {
  const World *world = rank->world;
  const PlanProgram *train = replay_program(&rank->replay, PROGRAM_TRAIN_STEP);
  if (world->steps == 0 || plan_loads(world->plan, train) == 0) return true;
  const Plan *plan = plan_of(rank);
  const StagingSetup setup = {
      .plan = world->data != NULL ? world->data : world->plan,
      .train = &world->samples,
      .valid = &world->valid,
      .ring = rank->arenas->base[job_staging_tier(plan)] + job_staging_offset(plan),
      .replicas = mesh_replicas(&world->mesh),
      .replica = mesh_replica(&world->mesh, rank->number),
      .first_step = 1,
      .last_step = world->steps,
      .train_loads = job_accumulation(plan),
      .valid_passes = world_validations(rank),
  };
  rank->staging = staging_start(&setup, status);
  return rank->staging != NULL;
}

bool world_bind(WorldRank *rank, ReplaySetup setup, Status *status) {
  const World *world = rank->world;
  setup.plan = world->plan;
  setup.mesh = &world->mesh;
  setup.rank = rank->number;
  setup.threads = rank->threads;
  memcpy(setup.arena, rank->arenas->base, sizeof setup.arena);
  if (setup.comm == NULL) {
    setup.comm = rank->comm;
    setup.comm_beside = local_comm_beside(world->local, rank->number);
  }
  if (setup.kernels[0] == NULL) setup.kernels[0] = kernels_of(KERNEL_FAST);
  return replay_bind(&rank->replay, &setup, status) && start_staging(rank, status);
}

void world_open_memory(const WorldRank *rank, bool open) {
  for (Tier tier = 0; tier < Tier_COUNT; tier++) {
    const Arena *arena = &rank->arenas->tier[tier];
    if (arena->base != NULL)
      (open ? hostile_allow : hostile_forbid)(&rank->replay.hostile, arena->base,
                                              arena->size_bytes);
  }
}

bool world_meet(const WorldRank *rank, Status *status) {
  Comm *comm = rank->replay.setup.comm;
  if (comm->ops->barrier(comm)) return true;
  status->code = 0; /* the rank that failed says why */
  return false;
}

static bool run_program(WorldRank *rank, ProgramKind kind, const Control *in, bool goes_on,
                        Control *left, Status *status) {
  bool loads = rank->staging != NULL && kind != PROGRAM_INIT;
  const void *samples = loads ? staging_take(rank->staging, status) : NULL;
  if (loads && samples == NULL) return false;
  ReplayLeft all;
  Control set = *in;
  if (loads && mesh_is_first_of_replica(&rank->world->mesh, rank->number)) {
    const LossTargets targets = staging_targets(rank->staging);
    loss_targets_set(&set, &targets, plan_losses(rank->replay.setup.plan).count);
  }
  const PlanProgram *program = replay_program(&rank->replay, kind);
  if (!replay_start(&rank->replay, program, &set, samples, status) ||
      !replay_collect(&rank->replay, &all, status) ||
      (!goes_on && !replay_settle(&rank->replay, status)))
    return false;
  if (loads) staging_give_back(rank->staging);
  *left = all.control;
  return true;
}

bool world_program(WorldRank *rank, ProgramKind kind, const Control *in, Control *left,
                   Status *status) {
  return run_program(rank, kind, in, false, left, status);
}

bool world_step(WorldRank *rank, const Control *in, Control *left, Status *status) {
  return run_program(rank, PROGRAM_TRAIN_STEP, in, true, left, status);
}

/* Data first: its thread writes into the arena, and reads the plan. */
void world_leave(WorldRank *rank) {
  staging_stop(rank->staging);
  threads_free(rank->threads);
  replay_free(&rank->replay);
  rank->staging = NULL, rank->threads = NULL;
}

static bool run_rank(void *context, int32_t number, Status *status) {
  World *world = context;
  WorldRank rank = {.world = world, .number = number, .arenas = &world->arenas[number]};
  bool done = world->body(world->context, &rank, status);
  world_leave(&rank);
  return done;
}

static void abort_all(void *context) {
  const World *world = context;
  local_world_abort(world->local);
  if (world->abort != NULL) world->abort();
}

bool world_run(World *world, Status *status) {
  const Plan *plan = world->plan;
  if (!mesh_read(&world->mesh, plan, status)) return false;
  if (world->mesh.rank_count > WORLD_RANKS_MAX)
    return status_fail(status, STATUS_OURS, "%d ranks are too many", world->mesh.rank_count);
  if (world->steps > 0 && (!samples_open(&world->samples, plan, false, status) ||
                           !samples_open(&world->valid, plan, true, status)))
    return false;
  world->local = local_world_new(plan, &world->mesh, (int32_t)job_threads(plan));
  if (world->local == NULL)
    return status_fail(status, STATUS_WORLD, "not enough memory for the world");
  local_world_delay(world->local, world->delay);
  return boot_local(world->mesh.rank_count, run_rank, abort_all, world, status);
}

void world_close(World *world) {
  local_world_free(world->local);
  world->local = NULL;
  samples_close(&world->samples);
  samples_close(&world->valid);
  for (int32_t rank = 0; rank < WORLD_RANKS_MAX; rank++)
    arenas_close(&world->arenas[rank]);
}
