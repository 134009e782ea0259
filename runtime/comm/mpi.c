/* mpi.c -- an MPI communicator for each communicator of the plan and each lane that uses it, made
 * by splits. If all members are on one node, collectives use shared memory. */
#include "runtime/comm/mpi.h"

#include <assert.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/comm/mpi_moves.h"
#include "runtime/comm/near.h"
#include "runtime/process/plural.h"

enum {
  SLOTS_BYTES = 4 << 20,
  SLOT_LEAST_BYTES = 4096,
  SPINS_WITH_CORES = 2000,
  SPINS_WITHOUT_CORES = 4,
  NEAR_SPINS_WITHOUT_CORES = 16
};

typedef struct MpiComm {
  Comm base;
  MpiWorld *world;
  uint32_t lane;
  MpiMover mover;
  NearMover near;
} MpiComm;

struct MpiWorld {
  const Plan *plan;
  Mesh mesh;
  int32_t rank;
  MPI_Comm all;
  MeshShares shares;
  MpiGroup sharers[MESH_SHARES_MAX]; /* of each set of axes */
  MpiGroup *group;                   /* of each of the plan's communicators, lane after lane */
  Near *near;                        /* NULL: ranks share no memory */
  MpiComm lane[PLAN_LANES_MAX];
  atomic_bool is_aborted;
};

static MpiGroup *group_of(MpiWorld *world, uint32_t comm, uint32_t lane) {
  return &world->group[(size_t)comm * world->plan->lanes_count + lane];
}

static MpiGroup meeting(MpiComm *self, uint32_t comm) {
  MpiGroup at = *group_of(self->world, comm, self->lane);
  assert(at.count == 1 || at.comm != MPI_COMM_NULL);
  return at;
}

static NearGroup near(const MpiComm *self, uint32_t comm) {
  const Near *all = self->world->near;
  return all ? near_group(all, comm, self->lane) : (NearGroup){0};
}

/* Counts what was sent, whether or not the call succeeded. */
static bool count_sent(MpiComm *self, bool done) {
  self->base.sent_bytes += self->mover.wire.sent_bytes + self->near.sent_bytes;
  self->mover.wire.sent_bytes = 0;
  self->near.sent_bytes = 0;
  return done;
}

static bool all_reduce(Comm *comm, uint32_t number, const void *x, void *y, CommElements elements,
                       ReduceOp reduce) {
  MpiComm *self = (MpiComm *)comm;
  NearGroup here = near(self, number);
  return count_sent(self, here.barrier ? near_all_reduce(&self->near, here, x, y, elements, reduce)
                                       : mpi_all_reduce(&self->mover, meeting(self, number), x, y,
                                                        elements, reduce));
}

static bool all_gather(Comm *comm, uint32_t number, const void *x, void *y,
                       const CommPieces *pieces) {
  MpiComm *self = (MpiComm *)comm;
  NearGroup here = near(self, number);
  return count_sent(self, here.barrier
                              ? near_all_gather(&self->near, here, x, y, pieces)
                              : mpi_all_gather(&self->mover, meeting(self, number), x, y, pieces));
}

static bool reduce_scatter(Comm *comm, uint32_t number, void *x, void *y, const CommPieces *pieces,
                           ReduceOp reduce) {
  MpiComm *self = (MpiComm *)comm;
  NearGroup here = near(self, number);
  return count_sent(
      self, here.barrier
                ? near_reduce_scatter(&self->near, here, x, y, pieces, reduce)
                : mpi_reduce_scatter(&self->mover, meeting(self, number), x, y, pieces, reduce));
}

static bool all_to_all(Comm *comm, uint32_t number, const void *x, void *y, const CommTurn *turn) {
  MpiComm *self = (MpiComm *)comm;
  NearGroup here = near(self, number);
  return count_sent(self, here.barrier
                              ? near_all_to_all(&self->near, here, x, y, turn)
                              : mpi_all_to_all(&self->mover, meeting(self, number), x, y, turn));
}

/* A send to the rank itself is not counted. */
static bool exchange(Comm *comm, uint32_t number, const CommPost *post, int32_t count) {
  MpiComm *self = (MpiComm *)comm;
  MpiGroup at = meeting(self, number);
  bool done = mpi_exchange(&self->mover, at, post, count);
  for (int32_t i = 0; i < count; i++)
    if (post[i].is_sent && post[i].distance % at.count == 0)
      self->base.sent_bytes -= post[i].size_bytes;
  return count_sent(self, done);
}

/* ---- over all ranks */

static bool barrier(Comm *comm) {
  MpiComm *self = (MpiComm *)comm;
  Wire *wire = &self->mover.wire;
  wire_note(wire, MPI_Ibarrier(self->world->all, wire_request(wire)));
  return wire_finish(wire);
}

static bool gather_bytes(Comm *comm, const void *from, void *to, size_t size_bytes) {
  MpiComm *self = (MpiComm *)comm;
  Wire *wire = &self->mover.wire;
  self->base.sent_bytes += (self->world->mesh.rank_count - 1) * (int64_t)size_bytes;
  wire_note(wire, MPI_Iallgather(from, (int)size_bytes, MPI_BYTE, to, (int)size_bytes, MPI_BYTE,
                                 self->world->all, wire_request(wire)));
  return wire_finish(wire);
}

static bool broadcast_bytes(Comm *comm, int32_t root, void *bytes, size_t size_bytes) {
  MpiComm *self = (MpiComm *)comm;
  Wire *wire = &self->mover.wire;
  int64_t peers = self->world->mesh.rank_count - 1;
  if (self->world->rank == root) self->base.sent_bytes += peers * (int64_t)size_bytes;
  wire_note(wire, MPI_Ibcast(bytes, (int)size_bytes, MPI_BYTE, root, self->world->all,
                             wire_request(wire)));
  return wire_finish(wire);
}

static bool share_bytes(Comm *comm, uint32_t axes, int32_t member, void *bytes, size_t size_bytes) {
  MpiComm *self = (MpiComm *)comm;
  Wire *wire = &self->mover.wire;
  int32_t share = mesh_share_of(&self->world->shares, axes);
  if (axes == 0) return true;
  if (share < 0)
    return status_fail(&comm->problem, STATUS_OURS, "no ranks share state along axes 0x%x", axes);
  MpiGroup at = self->world->sharers[share];
  if (at.member == member) self->base.sent_bytes += (at.count - 1) * (int64_t)size_bytes;
  wire_note(wire,
            MPI_Ibcast(bytes, (int)size_bytes, MPI_BYTE, member, at.comm, wire_request(wire)));
  return wire_finish(wire);
}

/* No rank reads another's memory: a send is complete when its call has returned. */
static void leave(Comm *comm) {
  (void)comm;
}

static void abort_job(Comm *comm) {
  mpi_world_abort(((MpiComm *)comm)->world);
}

static bool is_aborted(const Comm *comm) {
  return atomic_load(&((const MpiComm *)comm)->world->is_aborted);
}

static int32_t members(const Comm *comm, uint32_t number) {
  const MpiComm *self = (const MpiComm *)comm;
  const MpiWorld *world = self->world;
  return mesh_comm(&world->mesh, world->plan, number, world->rank).member_count;
}

static const CommOps mpi_ops = {
    .all_reduce = all_reduce,
    .all_gather = all_gather,
    .reduce_scatter = reduce_scatter,
    .all_to_all = all_to_all,
    .exchange = exchange,
    .barrier = barrier,
    .gather_bytes = gather_bytes,
    .broadcast_bytes = broadcast_bytes,
    .share_bytes = share_bytes,
    .leave = leave,
    .abort = abort_job,
    .is_aborted = is_aborted,
    .members = members,
};

/* ---- opening */

static bool mpi_good(int result, const char *call, Status *status) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (result == MPI_SUCCESS) return true;
  (void)MPI_Error_string(result, text, &length);
  return status_fail(status, STATUS_WORLD, "%s: %s", call, text);
}

/* Open MPI 4 looks for variables of Slurm or mpirun; without them it treats a process as its own
 * world even if PMIx is available. Waiting in MPI_Init must not starve ranks that compute.
 * Variables that the user has set are kept. */
void mpi_prepare_environment(void) {
  static const char *const set[][2] = {
      {"OMPI_MCA_schizo", "ompi"},
      {"OMPI_MCA_ess", "pmi"},
      {"OMPI_MCA_mpi_yield_when_idle", "1"},
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
  };
  for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
    (void)setenv(set[i][0], set[i][1], 0);
}

static bool start_mpi(const MpiWorld *world, Status *status) {
  int provided = 0, size = 0, rank = 0;
  mpi_prepare_environment();
  if (!mpi_good(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided), "MPI_Init", status))
    return false;
  (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
  (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (size != world->mesh.rank_count || rank != world->rank)
    return status_fail(status, STATUS_WORLD,
                       "MPI came up as rank %d of %d, the launcher and the plan say rank %d of %d: "
                       "this MPI does not take its world from PMIx here",
                       rank, size, world->rank, world->mesh.rank_count);
  return provided == MPI_THREAD_MULTIPLE ||
         status_fail(status, STATUS_WORLD,
                     "MPI cannot be called by several threads (MPI_THREAD_MULTIPLE)");
}

/* Every rank of the job makes the same calls in the same order: all of it follows from the plan. */
static bool split_sharers(MpiWorld *world, Status *status) {
  for (int32_t i = 0; i < world->shares.count; i++) {
    MeshGroup at = mesh_group(&world->mesh, world->shares.axes[i], world->rank);
    MpiGroup *group = &world->sharers[i];
    *group = (MpiGroup){MPI_COMM_NULL, at.member_count, at.member};
    if (!mpi_good(MPI_Comm_split(world->all, at.group, at.member, &group->comm), "MPI_Comm_split",
                  status))
      return false;
  }
  return true;
}

static bool split(MpiWorld *world, uint32_t comm, Status *status) {
  MeshGroup at = mesh_comm(&world->mesh, world->plan, comm, world->rank);
  uint32_t lanes = plan_comm_lanes(world->plan, comm);
  for (uint32_t lane = 0; lane < world->plan->lanes_count; lane++) {
    MpiGroup *group = group_of(world, comm, lane);
    *group = (MpiGroup){MPI_COMM_NULL, at.member_count, at.member};
    if (at.member_count == 1 || (lanes >> lane & 1u) == 0) continue;
    if (!mpi_good(MPI_Comm_split(world->all, at.group, at.member, &group->comm), "MPI_Comm_split",
                  status))
      return false;
  }
  return true;
}

static bool open_lane(MpiWorld *world, uint32_t lane, bool has_cores) {
  MpiComm *self = &world->lane[lane];
  int32_t ranks = world->mesh.rank_count;
  int64_t least = (int64_t)ranks * SLOT_LEAST_BYTES;
  MpiMover *mover = &self->mover;
  self->world = world;
  self->lane = lane;
  mover->all_slots_bytes = least > SLOTS_BYTES ? least : SLOTS_BYTES;
  mover->incoming = malloc((size_t)mover->all_slots_bytes);
  mover->outgoing = malloc((size_t)mover->all_slots_bytes);
  mover->source = calloc((size_t)ranks, sizeof *mover->source);
  self->near = (NearMover){.window_bytes = near_window_bytes(),
                           .source = mover->source,
                           .is_aborted = &world->is_aborted};
  return wire_open(&mover->wire, 2 * ranks + 2 * COMM_POSTS_MAX,
                   has_cores ? SPINS_WITH_CORES : SPINS_WITHOUT_CORES, &world->is_aborted) &&
         mover->incoming && mover->outgoing && mover->source;
}

static bool open_lanes(MpiWorld *world, bool has_cores, Status *status) {
  for (uint32_t lane = 0; lane < world->plan->lanes_count; lane++)
    if (!open_lane(world, lane, has_cores))
      return status_fail(status, STATUS_WORLD, "not enough memory for messages");
  return true;
}

static bool open_world(MpiWorld *world, const int32_t *node, bool has_cores, Status *status) {
  if (!start_mpi(world, status) ||
      !mpi_good(MPI_Comm_dup(MPI_COMM_WORLD, &world->all), "MPI_Comm_dup", status))
    return false;
  for (uint32_t comm = 0; comm < world->plan->comms_count; comm++)
    if (!split(world, comm, status)) return false;
  if (!split_sharers(world, status)) return false;
  NearSetup setup = {.plan = world->plan,
                     .mesh = &world->mesh,
                     .rank = world->rank,
                     .node = node,
                     .all = world->all,
                     .spins = has_cores ? SPINS_WITH_CORES : NEAR_SPINS_WITHOUT_CORES};
  world->near = near_open(&setup);
  return open_lanes(world, has_cores, status);
}

MpiWorld *mpi_world_open(const Plan *plan, const Mesh *mesh, int32_t rank, const int32_t *node,
                         bool has_cores, Status *status) {
  MpiWorld *world = calloc(1, sizeof *world);
  size_t groups = (size_t)plan->comms_count * plan->lanes_count + 1;
  if (world) *world = (MpiWorld){.plan = plan, .mesh = *mesh, .rank = rank};
  if (world) world->shares = mesh_shares(plan);
  for (int32_t i = 0; world && i < MESH_SHARES_MAX; i++)
    world->sharers[i].comm = MPI_COMM_NULL;
  if (world) world->group = calloc(groups, sizeof *world->group);
  if (world && world->group && open_world(world, node, has_cores, status)) return world;
  if (!world || !world->group)
    (void)status_fail(status, STATUS_WORLD, "not enough memory for %d rank%s", mesh->rank_count,
                      plural(mesh->rank_count));
  if (world) mpi_world_abort(world);
  if (world) mpi_world_close(world);
  return NULL;
}

static void close_groups(MpiWorld *world) {
  for (uint32_t i = 0; i < world->plan->comms_count * world->plan->lanes_count; i++)
    if (world->group[i].comm != MPI_COMM_NULL) (void)MPI_Comm_free(&world->group[i].comm);
  for (int32_t i = 0; i < world->shares.count; i++)
    if (world->sharers[i].comm != MPI_COMM_NULL) (void)MPI_Comm_free(&world->sharers[i].comm);
  (void)MPI_Comm_free(&world->all);
}

void mpi_world_close(MpiWorld *world) {
  if (!atomic_load(&world->is_aborted)) {
    close_groups(world);
    (void)MPI_Finalize();
  }
  for (uint32_t lane = 0; lane < world->plan->lanes_count; lane++) {
    MpiMover *mover = &world->lane[lane].mover;
    wire_close(&mover->wire);
    free(mover->incoming);
    free(mover->outgoing);
    free(mover->source);
  }
  near_close(world->near);
  free(world->group);
  free(world);
}

Comm *mpi_comm(MpiWorld *world, Threads *threads) {
  MpiComm *self = &world->lane[plan_main_lane(world->plan)];
  self->base.ops = &mpi_ops;
  self->mover.threads = threads;
  self->near.threads = threads;
  return &self->base;
}

CommLanes mpi_comm_beside(MpiWorld *world) {
  CommLanes lanes = {{NULL}};
  for (uint32_t lane = 0; lane < world->plan->lanes_count; lane++) {
    if (lane == plan_main_lane(world->plan)) continue;
    world->lane[lane].base.ops = &mpi_ops;
    lanes.at[lane] = &world->lane[lane].base;
  }
  return lanes;
}

void mpi_world_abort(MpiWorld *world) {
  atomic_store(&world->is_aborted, true);
}
