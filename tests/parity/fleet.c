#include "tests/parity/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/boot/local.h"
#include "runtime/comm/local.h"
#include "runtime/comm/nccl.h"
#include "runtime/data/staging.h"
#include "runtime/device/arena.h"
#include "runtime/programs.h"
#include "runtime/replay.h"
#include "runtime/schedule.h"
#include "tests/unit/nccl_stand_in.h"

const Kernel *fleet_kernels;
const NcclApi *fleet_nccl;

typedef struct Member {
  const Fleet *fleet;
  int32_t rank;
  Replay replay;
  Comm *comm;
  NcclWorld *nccl; /* NULL: everything moves by `comm` */
  Threads *threads;
  Staging *staging;
} Member;

struct Fleet {
  const Plan *plan;
  int64_t steps;
  FleetQueues queues;
  FleetLook *look;
  void *context;
  FleetRank *ranks;
  Mesh mesh;
  Samples samples, valid;
  LocalWorld *world;
  Arena arena[FLEET_RANKS_MAX]; /* a peer may still read one when its rank has left */
};

int32_t fleet_rank_count(const Fleet *fleet) {
  return fleet->mesh.rank_count;
}

const uint8_t *fleet_arena(const Fleet *fleet, int32_t rank) {
  return fleet->arena[rank].base;
}

void fleet_coordinates(const Fleet *fleet, int32_t rank, int32_t coordinate[FLEET_AXES_MAX]) {
  mesh_coordinates(&fleet->mesh, rank, coordinate);
}

static bool start_data(Member *m, Status *status) {
  const Fleet *fleet = m->fleet;
  const PlanJob *job = &fleet->plan->jobs[0];
  if (programs_count_loads(fleet->plan, replay_program(&m->replay, PROGRAM_TRAIN_STEP)) == 0)
    return true; /* a stage of the pipeline that needs no samples */
  const StagingSetup setup = {
      .plan = fleet->plan,
      .train = &fleet->samples,
      .valid = &fleet->valid,
      .ring = fleet->arena[m->rank].base + job->staging_offset,
      .replicas = mesh_replicas(&fleet->mesh),
      .replica = mesh_replica(&fleet->mesh, m->rank),
      .first_step = 1,
      .last_step = fleet->steps,
      .train_loads = job->accumulation,
      .valid_passes = samples_passes(&fleet->valid, mesh_replicas(&fleet->mesh)),
  };
  m->staging = staging_start(&setup, status);
  return m->staging != NULL;
}

static bool open_member(Member *m, Arena *arena, Status *status) {
  const Fleet *fleet = m->fleet;
  const PlanClass *class = mesh_class(&fleet->mesh, fleet->plan, m->rank);
  if (!class) return status_fail(status, STATUS_OURS, "rank %d has no class", m->rank);
  if (!arena_open(arena, plan_arena_bytes(fleet->plan, class, TIER_DEVICE), status)) return false;
  m->threads = threads_new((int32_t)fleet->plan->jobs[0].threads, NULL);
  if (!m->threads) return status_fail(status, STATUS_WORLD, "cannot start threads");
  m->comm = local_comm(fleet->world, m->rank, m->threads);
  if (fleet_nccl != NULL &&
      !(m->nccl = nccl_world_open(fleet_nccl, fleet->plan, &fleet->mesh, m->rank, m->comm, status)))
    return false;
  const ReplaySetup setup = {
      .plan = fleet->plan,
      .mesh = &fleet->mesh,
      .rank = m->rank,
      .arena = {arena->base},
      .comm = m->nccl != NULL ? nccl_comm(m->nccl) : m->comm,
      .comm_beside =
          m->nccl != NULL ? nccl_comm_beside(m->nccl) : local_comm_beside(fleet->world, m->rank),
      .threads = m->threads,
      .kernels = {fleet_kernels != NULL ? fleet_kernels : kernels_of(KERNEL_FAST)},
      .look = m->nccl != NULL ? nccl_world_look : NULL,
      .look_context = m->nccl,
      .issues_only = fleet->queues.are_threads,
      .delay_most_ns = fleet->queues.delay_most_ns,
      .delay_seed = fleet->queues.delay_seed,
  };
  return replay_bind(&m->replay, &setup, status) && start_data(m, status);
}

/* Data first: its thread writes into the arena, and reads the plan. */
static void close_member(Member *m, bool done) {
  staging_stop(m->staging);
  threads_free(m->threads);
  if (!done) nccl_world_abort(m->nccl);
  replay_free(&m->replay);
  nccl_world_close(m->nccl);
}

static Control control_in(const Member *m, int64_t step) {
  const PlanJob *job = &m->fleet->plan->jobs[0];
  return (Control){
      .lr = schedule_lr(job, step),
      .step = step,
      .seed = job->seed,
      .microbatch_samples = job->microbatch_samples,
  };
}

static uint64_t in_blocks(uint64_t bytes) {
  return (bytes + PLAN_ALIGN_BYTES - 1) / PLAN_ALIGN_BYTES * PLAN_ALIGN_BYTES;
}

/* Control and staged data are in use whether or not a record has touched them. */
static void note_memory(const Member *m) {
  const Plan *plan = m->fleet->plan;
  const PlanJob *job = &plan->jobs[0];
  FleetRank *out = &m->fleet->ranks[m->rank];
  const uint64_t ends[] = {
      job->control_offset + job->control_bytes,
      job->staging_offset + (uint64_t)(job->prefetch_steps * job->accumulation) * job->sample_bytes,
  };
  out->used_bytes = m->replay.high_water_bytes;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ends[i] > out->used_bytes) out->used_bytes = ends[i];
  out->used_bytes = in_blocks(out->used_bytes);
  out->planned_bytes = 0;
  for (uint32_t i = 0; i < m->replay.class->programs_count; i++) {
    uint64_t peak =
        plan_peak(plan, &plan->programs[m->replay.class->programs_first + i])->peak_bytes;
    if (in_blocks(peak) > out->planned_bytes) out->planned_bytes = in_blocks(peak);
  }
}

static bool meet(const Member *m, Status *status) {
  if (m->comm->ops->barrier(m->comm)) return true;
  status->code = 0; /* the rank that failed says why */
  return false;
}

/* All ranks open their arenas, one looks, all close them again. */
static bool let_look(const Member *m, int64_t step, Status *status) {
  const Fleet *fleet = m->fleet;
  const Arena *arena = &fleet->arena[m->rank];
  hostile_allow(&m->replay.hostile, arena->base, arena->size_bytes);
  if (!meet(m, status)) return false;
  if (m->rank == 0) fleet->look(fleet->context, fleet, step);
  if (!meet(m, status)) return false;
  hostile_forbid(&m->replay.hostile, arena->base, arena->size_bytes);
  return true;
}

/* With what staging has next, if the program loads anything. */
static bool run_program(const Member *m, Replay *replay, ProgramKind kind, const Control *in,
                        Control *out, Status *status) {
  bool loads = m->staging && kind != PROGRAM_INIT;
  const void *samples = loads ? staging_take(m->staging, status) : NULL;
  ReplayLeft left;
  if ((loads && samples == NULL) ||
      !replay_run(replay, replay_program(replay, kind), in, samples, &left, status))
    return false;
  if (loads) staging_give_back(m->staging);
  *out = left.control;
  return true;
}

/* As a run does: losses of all batches over all their tokens. */
static bool validate(const Member *m, Replay *replay, Status *status) {
  bool validates = replay_program(replay, PROGRAM_EVAL_STEP) != NULL;
  double loss = 0, count = 0;
  int32_t replicas = mesh_replicas(&m->fleet->mesh),
          replica = mesh_replica(&m->fleet->mesh, m->rank);
  const Samples *valid = &m->fleet->valid;
  for (int64_t pass = 0; validates && pass < samples_passes(valid, replicas); pass++) {
    Control in = control_in(m, m->fleet->steps);
    Control left;
    in.padded_samples = samples_padded(valid, replicas, replica, pass);
    if (!run_program(m, replay, PROGRAM_EVAL_STEP, &in, &left, status)) return false;
    loss += left.loss;
    count += left.count;
  }
  m->fleet->ranks[m->rank].valid_loss = count > 0 ? loss / count : 0;
  return true;
}

static bool run_steps(const Member *m, Replay *replay, Status *status) {
  const Fleet *fleet = m->fleet;
  FleetRank *out = &fleet->ranks[m->rank];
  Control in = control_in(m, 0);
  Control left;
  if (!run_program(m, replay, PROGRAM_INIT, &in, &left, status)) return false;
  for (int64_t step = 1; step <= fleet->steps; step++) {
    in = control_in(m, step);
    if (!run_program(m, replay, PROGRAM_TRAIN_STEP, &in, &left, status)) return false;
    out->loss[step] = left.loss / left.count;
    out->norm[step] = left.grad_norm;
    if ((step == 1 || step == fleet->steps) && !let_look(m, step, status)) return false;
  }
  if (!validate(m, replay, status)) return false;
  note_memory(m);
  return meet(m, status);
}

static bool run_rank(void *context, int32_t rank, Status *status) {
  Fleet *fleet = context;
  Member m = {.fleet = fleet, .rank = rank};
  bool done = open_member(&m, &fleet->arena[rank], status) && meet(&m, status) &&
              run_steps(&m, &m.replay, status);
  close_member(&m, done);
  return done;
}

static void abort_all(void *context) {
  local_world_abort(((Fleet *)context)->world);
  if (fleet_nccl != NULL) nccl_stand_in_break();
}

static bool open_fleet(Fleet *fleet, Status *status) {
  if (!mesh_read(&fleet->mesh, fleet->plan, status)) return false;
  if (fleet->mesh.rank_count > FLEET_RANKS_MAX || fleet->steps > FLEET_STEPS_MAX)
    return status_fail(status, STATUS_OURS, "%d ranks, %lld steps are too many",
                       fleet->mesh.rank_count, (long long)fleet->steps);
  if (!samples_open(&fleet->samples, fleet->plan, false, status) ||
      !samples_open(&fleet->valid, fleet->plan, true, status))
    return false;
  fleet->world = local_world_new(fleet->plan, &fleet->mesh, (int32_t)fleet->plan->jobs[0].threads);
  return fleet->world || status_fail(status, STATUS_WORLD, "not enough memory for the world");
}

bool fleet_run(const Plan *plan, int64_t steps, FleetQueues queues, FleetLook *look, void *context,
               FleetRank ranks[FLEET_RANKS_MAX]) {
  Fleet *fleet = calloc(1, sizeof *fleet);
  if (!fleet) abort();
  fleet->plan = plan, fleet->steps = steps, fleet->look = look, fleet->context = context;
  fleet->queues = queues, fleet->ranks = ranks;
  Status status = {0};
  bool done = open_fleet(fleet, &status) &&
              boot_local(fleet->mesh.rank_count, run_rank, abort_all, fleet, &status);
  if (!done) printf("  %s\n", status.text);
  local_world_free(fleet->world);
  samples_close(&fleet->samples);
  samples_close(&fleet->valid);
  for (int32_t rank = 0; rank < FLEET_RANKS_MAX; rank++)
    arena_close(&fleet->arena[rank]);
  free(fleet);
  return done;
}
