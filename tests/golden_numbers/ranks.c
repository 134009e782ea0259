#include "tests/golden_numbers/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/boot/local.h"
#include "runtime/comm/local.h"
#include "runtime/device/arena.h"
#include "runtime/replay.h"

typedef struct World {
  Ranks *ranks;
  Mesh mesh;
  LocalWorld *local;
  Arena arena[RANKS_MAX]; /* until all have left: a peer may still read one */
} World;

static bool bind_rank(World *world, int32_t rank, Threads *threads, Replay *replay,
                      Status *status) {
  const Plan *plan = world->ranks->plan;
  Arena *arena = &world->arena[rank];
  const PlanClass *class = mesh_class(&world->mesh, plan, rank);
  if (!class || !arena_open(arena, plan_arena_bytes(plan, class, TIER_DEVICE), status))
    return false;
  const ReplaySetup setup = {
      .plan = plan,
      .mesh = &world->mesh,
      .rank = rank,
      .arena = {arena->base},
      .comm = local_comm(world->local, rank, threads),
      .comm_beside = local_comm_beside(world->local, rank),
      .threads = threads,
      .kernels = {kernels_of(KERNEL_FAST)},
  };
  return replay_bind(replay, &setup, status);
}

static bool run_program(Replay *replay, ProgramKind kind, int64_t step, Status *status) {
  const PlanJob *job = &replay->setup.plan->jobs[0];
  Control in = {.lr = 1e-3, .step = step};
  ReplayLeft left;
  void *samples = calloc((size_t)job->accumulation, job->sample_bytes);
  if (!samples) abort();
  bool ran = replay_run(replay, replay_program(replay, kind), &in, samples, &left, status);
  free(samples);
  return ran;
}

static bool run_step(World *world, int32_t rank, Replay *replay, Status *status) {
  uint32_t records = world->ranks->plan->records_count;
  RecordCount *counts = calloc(records, sizeof *counts);
  if (!counts) abort();
  world->ranks->counts[rank] = counts;
  if (!run_program(replay, PROGRAM_INIT, 0, status)) return false;
  for (uint32_t r = 0; r < records; r++)
    counts[r] = (RecordCount){-replay_count(replay, r)->runs, -replay_count(replay, r)->sent_bytes};
  if (!run_program(replay, PROGRAM_TRAIN_STEP, 1, status)) return false;
  for (uint32_t r = 0; r < records; r++) {
    counts[r].runs += replay_count(replay, r)->runs;
    counts[r].sent_bytes += replay_count(replay, r)->sent_bytes;
  }
  Comm *comm = replay->setup.comm;
  return comm->ops->barrier(comm);
}

static bool run_rank(void *context, int32_t rank, Status *status) {
  World *world = context;
  Replay replay = {0};
  Threads *threads = threads_new(1, NULL);
  if (!threads) return status_fail(status, STATUS_WORLD, "cannot start threads");
  bool done =
      bind_rank(world, rank, threads, &replay, status) && run_step(world, rank, &replay, status);
  threads_free(threads);
  replay_free(&replay);
  return done;
}

static void abort_all(void *context) {
  local_world_abort(((World *)context)->local);
}

bool ranks_run(const Plan *plan, Ranks *ranks) {
  World *world = calloc(1, sizeof *world);
  if (!world) abort();
  *ranks = (Ranks){.plan = plan};
  world->ranks = ranks;
  Status status = {0};
  bool done = mesh_read(&world->mesh, plan, &status);
  if (done && world->mesh.rank_count > RANKS_MAX)
    done = status_fail(&status, STATUS_OURS, "%d ranks are too many", world->mesh.rank_count);
  if (done) {
    ranks->count = world->mesh.rank_count;
    world->local = local_world_new(plan, &world->mesh, 1);
    done = boot_local(ranks->count, run_rank, abort_all, world, &status);
  }
  if (!done) printf("%s\n", status.text);
  for (int32_t rank = 0; rank < RANKS_MAX; rank++)
    arena_close(&world->arena[rank]);
  local_world_free(world->local);
  free(world);
  return done;
}

void ranks_close(Ranks *ranks) {
  for (int32_t rank = 0; rank < RANKS_MAX; rank++)
    free(ranks->counts[rank]);
  *ranks = (Ranks){0};
}
