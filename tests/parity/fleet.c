#include "tests/parity/fleet.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/comm/nccl.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/schedule.h"
#include "tests/common/world.h"
#include "tests/unit/nccl_stand_in.h"

_Static_assert((int)FLEET_RANKS_MAX == (int)WORLD_RANKS_MAX, "a rank each");

const Kernel *fleet_kernels;
const NcclApi *fleet_nccl;

struct Fleet {
  int64_t steps;
  FleetQueues queues;
  FleetLook *look;
  void *context;
  FleetRank *ranks;
  World world;
};

int32_t fleet_rank_count(const Fleet *fleet) {
  return fleet->world.mesh.rank_count;
}

const uint8_t *fleet_arena(const Fleet *fleet, int32_t rank) {
  return fleet->world.arenas[rank].base[TIER_DEVICE];
}

void fleet_coordinates(const Fleet *fleet, int32_t rank, int32_t coordinate[FLEET_AXES_MAX]) {
  mesh_coordinates(&fleet->world.mesh, rank, coordinate);
}

/* `nccl`: NULL where everything moves by what threads of one process have. */
static bool bind_rank(const Fleet *fleet, WorldRank *rank, NcclWorld *nccl, Status *status) {
  ReplaySetup setup = {
      .kernels = {fleet_kernels, kernels_of(KERNEL_FAST)},
      .issues_only = fleet->queues.are_threads,
      .delay_most_ns = fleet->queues.delay_most_ns,
      .delay_seed = fleet->queues.delay_seed,
  };
  if (nccl != NULL) {
    setup.comm = nccl_comm(nccl);
    setup.comm_beside = nccl_comm_beside(nccl);
    setup.look = nccl_world_look;
    setup.look_context = nccl;
  }
  return world_bind(rank, setup, status);
}

static Control control_in(const WorldRank *rank, int64_t step) {
  return (Control){
      .lr = schedule_lr(rank->world->plan, step),
      .step = step,
      .seed = job_seed(rank->world->plan),
      .microbatch_samples = job_microbatch_samples(rank->world->plan),
  };
}

static uint64_t in_blocks(uint64_t bytes) {
  return (bytes + PLAN_ALIGN_BYTES - 1) / PLAN_ALIGN_BYTES * PLAN_ALIGN_BYTES;
}

/* Control and staged data are in use whether or not a record has touched them. */
static void note_memory(const WorldRank *rank, FleetRank *out) {
  const Plan *plan = rank->world->plan;
  const PlanClass *class = rank->replay.class;
  const uint64_t ends[] = {
      job_control_offset(plan) + job_control_bytes(plan),
      job_staging_offset(plan) +
          (uint64_t)(job_prefetch_steps(plan) * job_accumulation(plan)) * job_sample_bytes(plan),
  };
  out->used_bytes = rank->replay.high_water_bytes;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ends[i] > out->used_bytes) out->used_bytes = ends[i];
  out->used_bytes = in_blocks(out->used_bytes);
  out->planned_bytes = 0;
  for (uint32_t i = 0; i < class->programs_count; i++) {
    uint64_t peak = plan_peak(plan, &plan->programs[class->programs_first + i])->peak_bytes;
    if (in_blocks(peak) > out->planned_bytes) out->planned_bytes = in_blocks(peak);
  }
}

/* All ranks open their arenas, one looks, all close them again. */
static bool let_look(const Fleet *fleet, WorldRank *rank, int64_t step, Status *status) {
  if (!replay_settle(&rank->replay, status)) return false;
  world_open_memory(rank, true);
  if (!world_meet(rank, status)) return false;
  if (rank->number == 0) fleet->look(fleet->context, fleet, step);
  if (!world_meet(rank, status)) return false;
  world_open_memory(rank, false);
  return true;
}

/* As a run does: losses of all batches over all their tokens. */
static bool validate(const Fleet *fleet, WorldRank *rank, Status *status) {
  const World *world = rank->world;
  const PlanLosses losses = plan_losses(world->plan);
  LossSums sums = {0};
  int32_t replicas = mesh_replicas(&world->mesh),
          replica = mesh_replica(&world->mesh, rank->number);
  for (int64_t pass = 0; pass < world_validations(rank); pass++) {
    Control in = control_in(rank, fleet->steps);
    Control left;
    in.padded_samples = samples_padded(&world->valid, replicas, replica, pass);
    if (!world_program(rank, PROGRAM_EVAL_STEP, &in, &left, status)) return false;
    loss_sums_add(&sums, &left, losses.count);
  }
  fleet->ranks[rank->number].valid_loss = sums.count[0] > 0 ? loss_total(&losses, &sums) : 0;
  return true;
}

static bool run_steps(const Fleet *fleet, WorldRank *rank, Status *status) {
  FleetRank *out = &fleet->ranks[rank->number];
  const PlanLosses losses = plan_losses(rank->world->plan);
  Control in = control_in(rank, 0);
  Control left;
  if (!world_program(rank, PROGRAM_INIT, &in, &left, status)) return false;
  for (int64_t step = 1; step <= fleet->steps; step++) {
    in = control_in(rank, step);
    if (!world_step(rank, &in, &left, status)) return false;
    LossSums sums = {0};
    loss_sums_add(&sums, &left, losses.count);
    out->loss[step] = loss_total(&losses, &sums);
    out->norm[step] = left.grad_norm;
    if ((step == 1 || step == fleet->steps) && !let_look(fleet, rank, step, status)) return false;
  }
  if (!validate(fleet, rank, status)) return false;
  note_memory(rank, out);
  return world_meet(rank, status);
}

static bool run_rank(void *context, WorldRank *rank, Status *status) {
  const Fleet *fleet = context;
  const World *world = rank->world;
  NcclWorld *nccl = NULL;
  bool done = world_open(rank, status);
  if (done && fleet_nccl != NULL) {
    nccl = nccl_world_open(fleet_nccl, world->plan, &world->mesh, rank->number, rank->comm, status);
    done = nccl != NULL;
  }
  done = done && bind_rank(fleet, rank, nccl, status) && world_meet(rank, status) &&
         run_steps(fleet, rank, status);
  if (!done) nccl_world_abort(nccl);
  world_leave(rank);
  nccl_world_close(nccl);
  return done;
}

bool fleet_run(const Plan *plan, int64_t steps, FleetQueues queues, FleetLook *look, void *context,
               FleetRank ranks[FLEET_RANKS_MAX]) {
  Fleet *fleet = calloc(1, sizeof *fleet);
  if (!fleet) abort();
  fleet->steps = steps, fleet->look = look, fleet->context = context;
  fleet->queues = queues, fleet->ranks = ranks;
  fleet->world = (World){.plan = plan, .steps = steps, .body = run_rank, .context = fleet};
  if (fleet_nccl != NULL) fleet->world.abort = nccl_stand_in_break;
  Status status = {0};
  bool done = steps <= FLEET_STEPS_MAX ||
              status_fail(&status, STATUS_OURS, "%lld steps are too many", (long long)steps);
  done = done && world_run(&fleet->world, &status);
  if (!done) printf("  %s\n", status.text);
  world_close(&fleet->world);
  free(fleet);
  return done;
}
