/* local.c -- members publish addresses, wait at a barrier, and read each other's memory.
 *
 * An all-reduce is a reduce-scatter and an all-gather in place: only member m reads and writes part
 * m of all arrays until the next barrier; then the member copies the other parts from their owners.
 */
#include "runtime/comm/local.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/comm/group.h"
#include "runtime/comm/pieces.h"
#include "runtime/comm/reduce.h"
#include "runtime/process/cgroup.h"

enum {
  CHANNELS = 2, /* collectives in order with computation, and those that overlap with it */
  SPINS_WITH_CORES = 2000,
  SPINS_WITHOUT_CORES = 16
};

/* The groups of one communicator and channel. */
typedef struct GroupList {
  Group *at;
  int32_t count;
} GroupList;

typedef struct LocalComm {
  Comm base;
  LocalWorld *world;
  int32_t rank;
  uint32_t channel;
  Threads *threads;
} LocalComm;

struct LocalWorld {
  Mesh mesh;
  uint32_t comm_count;
  uint32_t *axes_mask; /* of each communicator */
  GroupList *groups;   /* of each communicator and channel */
  MeshShares shares;
  GroupList sharers[MESH_SHARES_MAX]; /* of each set of axes */
  Barrier all;
  const void **shown; /* by rank: shown to all others between two barriers */
  pthread_mutex_t door;
  pthread_cond_t left;
  bool *is_inside; /* by rank: it has asked for its comm and has not left */
  int32_t inside;
  uint32_t lane_count, main_lane;
  LocalComm *ranks; /* of each rank and lane */
  CommDelay delay;
};

typedef struct Meeting {
  Group *group;
  int32_t member;
} Meeting;

static Meeting meeting(const Comm *self, uint32_t comm) {
  const LocalComm *local = (const LocalComm *)self;
  MeshGroup at = mesh_group(&local->world->mesh, local->world->axes_mask[comm], local->rank);
  return (Meeting){&local->world->groups[CHANNELS * comm + local->channel].at[at.group], at.member};
}

static bool publish(Meeting at, const void *x, void *y, bool in_place) {
  at.group->x[at.member] = x;
  at.group->y[at.member] = y;
  at.group->in_place[at.member] = in_place;
  return barrier_wait(&at.group->barrier);
}

/* No member copies after this barrier. The bytes that others copied from this member count as sent
 * by it. */
static bool leave(Comm *self, Meeting at) {
  if (!barrier_wait(&at.group->barrier)) return false;
  self->sent_bytes += group_take_sent(at.group, at.member);
  return true;
}

/* Returns the bytes copied; 0 if both places are the same. */
static int64_t copy_bytes(void *to, const void *from, int64_t to_first, int64_t from_first,
                          int64_t count, int64_t element_bytes) {
  void *target = (char *)to + to_first * element_bytes;
  const void *source = (const char *)from + from_first * element_bytes;
  if (count <= 0 || target == source) return 0;
  memcpy(target, source, (size_t)(count * element_bytes));
  return count * element_bytes;
}

/* A reduction reads equally much from each member. */
static void copied_from_all(Meeting at, int64_t size_bytes) {
  for (int32_t from = 0; from < at.group->count; from++)
    group_copied(at.group, at.member, from, size_bytes);
}

/* If not in place, the sums are built in y, which no other member reads in this phase. */
static bool local_all_reduce(Comm *self, uint32_t comm, const void *x, void *y,
                             CommElements elements, ReduceOp reduce) {
  Meeting at = meeting(self, comm);
  int64_t element_bytes = dtype_bytes(elements.dtype);
  Group *group = at.group;
  if (group->count == 1) {
    copy_bytes(y, x, 0, 0, elements.count, element_bytes);
    return true;
  }
  if (!publish(at, x, y, x == y)) return false;
  CommPart mine = comm_part(elements.count, group->count, at.member);
  reduce_parallel(((const LocalComm *)self)->threads, (char *)y + mine.first * element_bytes,
                  group->x, group->count, mine.first, (CommElements){mine.count, elements.dtype},
                  reduce);
  copied_from_all(at, mine.count * element_bytes);
  if (!barrier_wait(&group->barrier)) return false;
  for (int32_t i = 0; i < group->count; i++) {
    CommPart part = comm_part(elements.count, group->count, i);
    if (i == at.member) continue;
    int64_t copied_bytes =
        copy_bytes(y, group->y[i], part.first, part.first, part.count, element_bytes);
    group_copied(group, at.member, i, copied_bytes);
  }
  return leave(self, at);
}

/* In place, a member's own pieces are only read: they are what it sends. */
static void gather_from(const Meeting *at, int32_t from, void *y, const CommPieces *pieces,
                        int64_t share) {
  PieceWalk walk = pieces_walk(pieces, 0, share);
  int32_t members = at->group->count;
  bool whole = at->group->in_place[from];
  int64_t copied_bytes = 0;
  for (Piece piece; pieces_next(&walk, &piece);) {
    int64_t place = piece_whole_at(&piece, members, from);
    copied_bytes += copy_bytes(y, at->group->x[from], place, whole ? place : piece.share_at,
                               piece.count, dtype_bytes(pieces->dtype));
  }
  group_copied(at->group, at->member, from, copied_bytes);
}

static bool local_all_gather(Comm *self, uint32_t comm, const void *x, void *y,
                             const CommPieces *pieces) {
  Meeting at = meeting(self, comm);
  int64_t share = pieces_share(pieces);
  if (!publish(at, x ? x : y, y, x == NULL)) return false;
  for (int32_t i = 0; i < at.group->count; i++)
    if (x != NULL || i != at.member) gather_from(&at, i, y, pieces, share);
  return leave(self, at);
}

typedef struct ScatterJob {
  const Meeting *at;
  const CommPieces *pieces;
  char *y;
  bool in_place;
  int32_t tasks;
  int64_t share;
  ReduceOp reduce;
  _Atomic int64_t read_bytes; /* of each member */
} ScatterJob;

/* Only this member reads or writes its pieces in all members' wholes. */
static void scatter_task(void *context, int64_t task, int32_t worker) {
  (void)worker;
  ScatterJob *job = context;
  const Group *group = job->at->group;
  CommPart mine = comm_part(job->share, job->tasks, (int32_t)task);
  int64_t unit = dtype_bytes(job->pieces->dtype);
  PieceWalk walk = pieces_walk(job->pieces, mine.first, mine.first + mine.count);
  for (Piece piece; pieces_next(&walk, &piece);) {
    int64_t place = piece_whole_at(&piece, group->count, job->at->member);
    reduce_range(job->y + (job->in_place ? place : piece.share_at) * unit, group->x, group->count,
                 place, (CommElements){piece.count, job->pieces->dtype}, job->reduce);
    atomic_fetch_add(&job->read_bytes, piece.count * unit);
  }
}

static bool local_reduce_scatter(Comm *self, uint32_t comm, void *x, void *y,
                                 const CommPieces *pieces, ReduceOp reduce) {
  Meeting at = meeting(self, comm);
  int64_t share = pieces_share(pieces);
  if (!publish(at, x, y, y == NULL)) return false;
  ScatterJob job = {&at, pieces, y ? y : x, y == NULL, 1, share, reduce, 0};
  job.tasks = reduce_tasks(((const LocalComm *)self)->threads, share);
  reduce_run(((const LocalComm *)self)->threads, job.tasks, scatter_task, &job);
  copied_from_all(at, job.read_bytes);
  return leave(self, at);
}

/* Copies the data of member `from` that is for this member: runs of b * inner elements. */
static void turn_from(const Meeting *at, int32_t from, void *y, const CommTurn *turn) {
  int64_t copied_bytes = 0;
  for (int64_t run = 0; run < turn_runs(turn); run++) {
    TurnRun where = turn_run(turn, at->group->count, from, at->member, run);
    copied_bytes += copy_bytes(y, at->group->x[from], where.y_at, where.x_at, turn->b * turn->inner,
                               dtype_bytes(turn->dtype));
  }
  group_copied(at->group, at->member, from, copied_bytes);
}

static bool local_all_to_all(Comm *self, uint32_t comm, const void *x, void *y,
                             const CommTurn *turn) {
  Meeting at = meeting(self, comm);
  if (!publish(at, x, y, false)) return false;
  for (int32_t i = 0; i < at.group->count; i++)
    turn_from(&at, i, y, turn);
  return leave(self, at);
}

static bool local_exchange(Comm *self, uint32_t comm, const CommPost *post, int32_t count) {
  Meeting at = meeting(self, comm);
  bool done = group_exchange(at.group, at.member, post, count);
  self->sent_bytes += group_take_sent(at.group, at.member);
  return done;
}

static bool local_barrier(Comm *self) {
  return barrier_wait(&((LocalComm *)self)->world->all);
}

static bool local_gather_bytes(Comm *self, const void *from, void *to, size_t size_bytes) {
  const LocalComm *local = (const LocalComm *)self;
  LocalWorld *world = local->world;
  int32_t ranks = world->mesh.rank_count;
  self->sent_bytes += (ranks - 1) * (int64_t)size_bytes;
  world->shown[local->rank] = from;
  if (!barrier_wait(&world->all)) return false;
  for (int32_t i = 0; i < ranks; i++)
    memcpy((char *)to + (size_t)i * size_bytes, world->shown[i], size_bytes);
  return barrier_wait(&world->all);
}

static bool local_broadcast_bytes(Comm *self, int32_t root, void *bytes, size_t size_bytes) {
  const LocalComm *local = (const LocalComm *)self;
  LocalWorld *world = local->world;
  int32_t peers = world->mesh.rank_count - 1;
  if (local->rank == root) self->sent_bytes += peers * (int64_t)size_bytes;
  world->shown[local->rank] = bytes;
  if (!barrier_wait(&world->all)) return false;
  if (local->rank != root) memcpy(bytes, world->shown[root], size_bytes);
  return barrier_wait(&world->all);
}

static bool local_share_bytes(Comm *self, uint32_t axes, int32_t member, void *bytes,
                              size_t size_bytes) {
  const LocalComm *local = (const LocalComm *)self;
  LocalWorld *world = local->world;
  if (axes == 0) return true;
  int32_t share = mesh_share_of(&world->shares, axes);
  if (share < 0)
    return status_fail(&self->problem, STATUS_OURS, "no ranks share state along axes 0x%x", axes);
  MeshGroup where = mesh_group(&world->mesh, axes, local->rank);
  Meeting at = {&world->sharers[share].at[where.group], where.member};
  if (at.member == member) self->sent_bytes += (at.group->count - 1) * (int64_t)size_bytes;
  if (!publish(at, bytes, bytes, true)) return false;
  if (at.member != member) memcpy(bytes, at.group->x[member], size_bytes);
  return barrier_wait(&at.group->barrier);
}

/* Not a barrier, because it must work after an abort and when some ranks never arrive. A rank that
 * arrives after an abort reads nothing from its peers. */
static void local_leave(Comm *self) {
  const LocalComm *local = (const LocalComm *)self;
  LocalWorld *world = local->world;
  pthread_mutex_lock(&world->door);
  world->is_inside[local->rank] = false;
  if (--world->inside == 0) pthread_cond_broadcast(&world->left);
  while (world->inside > 0)
    pthread_cond_wait(&world->left, &world->door);
  pthread_mutex_unlock(&world->door);
}

static void local_abort(Comm *self) {
  local_world_abort(((LocalComm *)self)->world);
}

static int32_t local_members(const Comm *self, uint32_t comm) {
  return meeting(self, comm).group->count;
}

static bool local_is_aborted(const Comm *self) {
  return atomic_load(&((const LocalComm *)self)->world->all.broken);
}

static const CommOps local_ops = {
    .all_reduce = local_all_reduce,
    .all_gather = local_all_gather,
    .reduce_scatter = local_reduce_scatter,
    .all_to_all = local_all_to_all,
    .exchange = local_exchange,
    .barrier = local_barrier,
    .gather_bytes = local_gather_bytes,
    .broadcast_bytes = local_broadcast_bytes,
    .share_bytes = local_share_bytes,
    .leave = local_leave,
    .abort = local_abort,
    .is_aborted = local_is_aborted,
    .members = local_members,
};

static bool open_groups(LocalWorld *world, uint32_t axes_mask, int32_t spins, GroupList *list) {
  MeshGroup shape = mesh_group(&world->mesh, axes_mask, 0);
  Group *groups = calloc((size_t)shape.group_count, sizeof *groups);
  if (!groups) return false;
  *list = (GroupList){groups, shape.group_count};
  for (int32_t i = 0; i < shape.group_count; i++)
    if (!group_open(&groups[i], shape.member_count, spins, &world->delay)) return false;
  return true;
}

LocalWorld *local_world_new(const Plan *plan, const Mesh *mesh, int32_t threads_per_rank) {
  LocalWorld *world = calloc(1, sizeof *world);
  if (!world) return NULL;
  bool cores = (int64_t)mesh->rank_count * threads_per_rank <= processors_here();
  int32_t spins = cores ? SPINS_WITH_CORES : SPINS_WITHOUT_CORES;
  world->mesh = *mesh;
  world->shares = mesh_shares(plan);
  barrier_open(&world->all, mesh->rank_count, spins);
  pthread_mutex_init(&world->door, NULL);
  pthread_cond_init(&world->left, NULL);
  world->comm_count = plan->comms_count;
  world->lane_count = plan->lanes_count;
  world->main_lane = plan_main_lane(plan);
  world->axes_mask = calloc(plan->comms_count + 1, sizeof *world->axes_mask);
  world->groups = calloc((size_t)CHANNELS * plan->comms_count + 1, sizeof *world->groups);
  world->ranks = calloc((size_t)plan->lanes_count * mesh->rank_count, sizeof *world->ranks);
  world->shown = calloc((size_t)mesh->rank_count, sizeof *world->shown);
  world->is_inside = calloc((size_t)mesh->rank_count, sizeof *world->is_inside);
  bool opened =
      world->axes_mask && world->groups && world->ranks && world->shown && world->is_inside;
  for (uint32_t i = 0; opened && i < plan->comms_count; i++)
    world->axes_mask[i] = plan->comms[i].axes_mask;
  for (uint32_t i = 0; opened && i < CHANNELS * plan->comms_count; i++)
    opened = open_groups(world, world->axes_mask[i / CHANNELS], spins, &world->groups[i]);
  for (int32_t i = 0; opened && i < world->shares.count; i++)
    opened = open_groups(world, world->shares.axes[i], spins, &world->sharers[i]);
  if (opened) return world;
  local_world_free(world);
  return NULL;
}

static void close_groups(const GroupList *list) {
  for (int32_t group = 0; group < list->count; group++)
    group_close(&list->at[group]);
  free(list->at);
}

void local_world_free(LocalWorld *world) {
  if (!world) return;
  for (uint32_t i = 0; world->groups && i < CHANNELS * world->comm_count; i++)
    close_groups(&world->groups[i]);
  for (int32_t i = 0; i < world->shares.count; i++)
    close_groups(&world->sharers[i]);
  pthread_cond_destroy(&world->left);
  pthread_mutex_destroy(&world->door);
  free(world->shown);
  free(world->is_inside);
  free(world->axes_mask);
  free(world->groups);
  free(world->ranks);
  free(world);
}

void local_world_delay(LocalWorld *world, CommDelay delay) {
  world->delay = delay;
}

static Comm *open_comm(LocalWorld *world, int32_t rank, uint32_t lane, Threads *threads) {
  LocalComm *local = &world->ranks[(size_t)world->lane_count * (size_t)rank + lane];
  *local = (LocalComm){{.ops = &local_ops}, world, rank, lane != world->main_lane, threads};
  return &local->base;
}

static void enter(LocalWorld *world, int32_t rank) {
  pthread_mutex_lock(&world->door);
  if (!world->is_inside[rank]) world->inside++;
  world->is_inside[rank] = true;
  pthread_mutex_unlock(&world->door);
}

Comm *local_comm(LocalWorld *world, int32_t rank, Threads *threads) {
  enter(world, rank);
  return open_comm(world, rank, world->main_lane, threads);
}

CommLanes local_comm_beside(LocalWorld *world, int32_t rank) {
  CommLanes lanes = {{NULL}};
  for (uint32_t lane = 0; lane < world->lane_count; lane++)
    if (lane != world->main_lane) lanes.at[lane] = open_comm(world, rank, lane, NULL);
  return lanes;
}

static void break_groups(const GroupList *list) {
  for (int32_t group = 0; group < list->count; group++)
    group_break(&list->at[group]);
}

void local_world_abort(LocalWorld *world) {
  barrier_break(&world->all);
  for (uint32_t i = 0; i < CHANNELS * world->comm_count; i++)
    break_groups(&world->groups[i]);
  for (int32_t i = 0; i < world->shares.count; i++)
    break_groups(&world->sharers[i]);
}
