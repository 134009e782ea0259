#include "runtime/comm/nccl.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/comm/pieces.h"

enum {
  MEMBERS_AN_ID = 256, /* with more, too many would connect to one thread */
  MOVES_A_GROUP = 512,
  LOOKS_AT_ONCE = 400, /* some 0.2 ms */
  OPENING_MOST_S = 600,
  LATE = -1, /* beside NCCL's results */
  LOOK_AGAIN_NS = 20000
};

typedef struct NcclComm {
  Comm base;
  NcclWorld *world;
  uint32_t lane;
  void *stream;
  int moves; /* calls in the open group */
  int error; /* of the group's first call that failed */
} NcclComm;

/* One of the plan's communicators on one lane. */
typedef struct NcclGroup {
  NcclHandle *handle; /* NULL: it has no other members, or the lane does not use it */
  int32_t count, member;
  void *held; /* the rank's memory, as the handle knows it; or NULL */
} NcclGroup;

struct NcclWorld {
  const NcclApi *api;
  const Plan *plan;
  Mesh mesh;
  int32_t rank;
  Comm *host;
  NcclGroup *group; /* of each of the plan's communicators, lane after lane */
  NcclComm lane[PLAN_LANES_MAX];
  atomic_bool is_aborted;
  bool is_gone; /* its communicators are */
};

static NcclGroup *group_of(const NcclWorld *world, uint32_t comm, uint32_t lane) {
  return &world->group[(size_t)comm * world->plan->lanes_count + lane];
}

static int nccl_dtype(DType dtype) {
  switch (dtype) {
  case DTYPE_F32: return NCCL_FLOAT32;
  case DTYPE_BF16: return NCCL_BFLOAT16;
  case DTYPE_F16: return NCCL_FLOAT16;
  case DTYPE_I32: return NCCL_INT32;
  case DTYPE_F64: return NCCL_FLOAT64;
  case DTYPE_I16:  /* no collective moves the lower halves of split masters, */
  case DTYPE_E4M3: /* nor codes, whose scales are each rank's own */
  case DTYPE_E5M2:
  case DTYPE_U8:
  case DTYPE_COUNT: break;
  }
  abort();
}

static int nccl_reduce(ReduceOp reduce) {
  return reduce == REDUCE_MAX ? NCCL_MAX : NCCL_SUM;
}

/* ---- groups of calls */

/* This rank gives up, or another one has. */
static bool is_over(const NcclWorld *world) {
  return atomic_load(&world->is_aborted) || world->host->ops->is_aborted(world->host);
}

static atomic_int opening_most_s = OPENING_MOST_S;

void nccl_opening_most(int32_t seconds) {
  atomic_store(&opening_most_s, seconds);
}

static bool nccl_good(const NcclWorld *world, int result, const char *call, Status *status) {
  if (result == NCCL_DONE) return true;
  if (result == LATE && !is_over(world))
    return status_fail(status, STATUS_WORLD,
                       "%s: its members have not met within %d s (NCCL_DEBUG=INFO tells how far "
                       "they are, NCCL_SOCKET_IFNAME chooses the network)",
                       call, atomic_load(&opening_most_s));
  if (is_over(world) || result == NCCL_REMOTE_ERROR)
    return status_fail(status, STATUS_ECHO, "%s: another rank ended", call);
  return status_fail(status, STATUS_WORLD, "%s: %s (NCCL_DEBUG=WARN tells more)", call,
                     world->api->error_string(result));
}

static int64_t now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/* A thread of NCCL's issues a call, which takes some ten microseconds, and a sleep takes longer.
 * That thread may be bound to the core of this one. */
static void pause_before(int look) {
  if (look > 0 && look < LOOKS_AT_ONCE) (void)sched_yield();
  if (look >= LOOKS_AT_ONCE) nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
}

/* The result of a call on a nonblocking communicator, which accepts no other call until then. The
 * call's own success does not say that it is done: ncclCommSplit of 2.28.9 returns it while the
 * split is under way and the new handle is NULL. Only ncclCommGetAsyncError tells. */
static int settle_by(const NcclWorld *world, NcclHandle *handle, int result, int64_t last_s) {
  if (result != NCCL_DONE && result != NCCL_UNDER_WAY) return result;
  result = NCCL_UNDER_WAY;
  for (int look = 0; result == NCCL_UNDER_WAY && !is_over(world); look++) {
    if (now_s() > last_s) return LATE;
    pause_before(look);
    int error = world->api->async_error(handle, &result);
    if (error != NCCL_DONE) return error;
  }
  return result;
}

static int settle(const NcclWorld *world, NcclHandle *handle, int result) {
  return settle_by(world, handle, result, INT64_MAX);
}

/* The opening of a communicator is limited in time: a network without an answer would be tried for
 * hours. */
static int settle_open(const NcclWorld *world, NcclHandle *handle, int result) {
  return settle_by(world, handle, result, now_s() + atomic_load(&opening_most_s));
}

static void begin(NcclComm *self) {
  self->moves = 0;
  self->error = self->world->api->group_start();
}

static void note(NcclComm *self, int result) {
  if (self->error == NCCL_DONE && result != NCCL_UNDER_WAY) self->error = result;
}

static bool end(NcclComm *self, const NcclGroup *group) {
  NcclWorld *world = self->world;
  int result = settle(world, group->handle, world->api->group_end());
  if (self->error == NCCL_DONE) self->error = result;
  if (atomic_load(&world->is_aborted)) return false;
  return nccl_good(world, self->error, "NCCL", &self->base.problem);
}

/* Called before so many moves are added, at the same point by all members: a group holds a limited
 * number, and matching moves of two members must be in the same group. */
static bool make_room(NcclComm *self, const NcclGroup *group, int moves) {
  self->moves += moves;
  if (self->moves <= MOVES_A_GROUP || self->moves == moves) return true;
  if (!end(self, group)) return false;
  begin(self);
  self->moves = moves;
  return true;
}

/* ---- the plan's collectives; a member alone in its communicator already has what it would receive
 */

static bool all_reduce(Comm *comm, uint32_t number, const void *x, void *y, CommElements elements,
                       ReduceOp reduce) {
  NcclComm *self = (NcclComm *)comm;
  const NcclApi *api = self->world->api;
  const NcclGroup *group = group_of(self->world, number, self->lane);
  int64_t bytes = elements.count * dtype_bytes(elements.dtype);
  self->base.sent_bytes += 2 * bytes * (group->count - 1) / group->count;
  begin(self);
  note(self, api->all_reduce(x, y, (size_t)elements.count, nccl_dtype(elements.dtype),
                             nccl_reduce(reduce), group->handle, self->stream));
  return end(self, group);
}

/* Members' pieces alternate in the whole, so each piece is its own broadcast. */
static bool gather_pieces(NcclComm *self, const NcclGroup *group, const char *x, char *y,
                          const CommPieces *pieces) {
  int64_t unit = dtype_bytes(pieces->dtype);
  PieceWalk walk = pieces_walk(pieces, 0, pieces_share(pieces));
  Piece piece;
  begin(self);
  while (pieces_next(&walk, &piece))
    for (int32_t root = 0; root < group->count; root++) {
      char *to = y + piece_whole_at(&piece, group->count, root) * unit;
      const char *own = x != NULL ? x + piece.share_at * unit : to;
      if (!make_room(self, group, 1)) return false;
      note(self, self->world->api->broadcast(root == group->member ? own : to, to,
                                             (size_t)piece.count, nccl_dtype(pieces->dtype), root,
                                             group->handle, self->stream));
    }
  return end(self, group);
}

static bool is_one_piece(const CommPieces *pieces) {
  return pieces->pair_count == 1 && pieces->pair[0] == 1;
}

static bool all_gather(Comm *comm, uint32_t number, const void *x, void *y,
                       const CommPieces *pieces) {
  NcclComm *self = (NcclComm *)comm;
  const NcclGroup *group = group_of(self->world, number, self->lane);
  int64_t share = pieces_share(pieces), unit = dtype_bytes(pieces->dtype);
  self->base.sent_bytes += (group->count - 1) * share * unit;
  if (!is_one_piece(pieces)) return gather_pieces(self, group, x, y, pieces);
  const void *own = x != NULL ? x : (char *)y + group->member * share * unit;
  begin(self);
  note(self, self->world->api->all_gather(own, y, (size_t)share, nccl_dtype(pieces->dtype),
                                          group->handle, self->stream));
  return end(self, group);
}

static bool scatter_pieces(NcclComm *self, const NcclGroup *group, char *x, char *y,
                           const CommPieces *pieces, ReduceOp reduce) {
  int64_t unit = dtype_bytes(pieces->dtype);
  PieceWalk walk = pieces_walk(pieces, 0, pieces_share(pieces));
  Piece piece;
  begin(self);
  while (pieces_next(&walk, &piece))
    for (int32_t root = 0; root < group->count; root++) {
      char *from = x + piece_whole_at(&piece, group->count, root) * unit;
      char *to = y != NULL && root == group->member ? y + piece.share_at * unit : from;
      if (!make_room(self, group, 1)) return false;
      note(self, self->world->api->reduce(from, to, (size_t)piece.count, nccl_dtype(pieces->dtype),
                                          nccl_reduce(reduce), root, group->handle, self->stream));
    }
  return end(self, group);
}

static bool reduce_scatter(Comm *comm, uint32_t number, void *x, void *y, const CommPieces *pieces,
                           ReduceOp reduce) {
  NcclComm *self = (NcclComm *)comm;
  const NcclGroup *group = group_of(self->world, number, self->lane);
  int64_t share = pieces_share(pieces), unit = dtype_bytes(pieces->dtype);
  self->base.sent_bytes += (group->count - 1) * share * unit;
  if (!is_one_piece(pieces)) return scatter_pieces(self, group, x, y, pieces, reduce);
  void *to = y != NULL ? y : (char *)x + group->member * share * unit;
  begin(self);
  note(self, self->world->api->reduce_scatter(x, to, (size_t)share, nccl_dtype(pieces->dtype),
                                              nccl_reduce(reduce), group->handle, self->stream));
  return end(self, group);
}

/* Run by run: correct, but slow for short runs. All members split groups between the same runs. */
static bool all_to_all(Comm *comm, uint32_t number, const void *x, void *y, const CommTurn *turn) {
  NcclComm *self = (NcclComm *)comm;
  const NcclApi *api = self->world->api;
  const NcclGroup *group = group_of(self->world, number, self->lane);
  int64_t unit = dtype_bytes(turn->dtype), run_bytes = turn->b * turn->inner * unit;
  self->base.sent_bytes += (group->count - 1) * turn_runs(turn) * run_bytes;
  begin(self);
  for (int64_t run = 0; run < turn_runs(turn); run++) {
    if (!make_room(self, group, 2 * group->count)) return false;
    for (int32_t i = 0; i < group->count; i++) {
      TurnRun out = turn_run(turn, group->count, group->member, i, run);
      TurnRun in = turn_run(turn, group->count, i, group->member, run);
      note(self, api->send((const char *)x + out.x_at * unit, (size_t)run_bytes, NCCL_UINT8, i,
                           group->handle, self->stream));
      note(self, api->receive((char *)y + in.y_at * unit, (size_t)run_bytes, NCCL_UINT8, i,
                              group->handle, self->stream));
    }
  }
  return end(self, group);
}

static bool exchange(Comm *comm, uint32_t number, const CommPost *post, int32_t count) {
  NcclComm *self = (NcclComm *)comm;
  const NcclApi *api = self->world->api;
  const NcclGroup *group = group_of(self->world, number, self->lane);
  begin(self);
  for (int32_t i = 0; i < count; i++) {
    int64_t peer = (group->member + post[i].distance % group->count) % group->count;
    int to = (int)(peer < 0 ? peer + group->count : peer);
    size_t bytes = (size_t)post[i].size_bytes;
    if (post[i].is_sent && to != group->member) self->base.sent_bytes += post[i].size_bytes;
    note(self, post[i].is_sent
                   ? api->send(post[i].at, bytes, NCCL_UINT8, to, group->handle, self->stream)
                   : api->receive(post[i].at, bytes, NCCL_UINT8, to, group->handle, self->stream));
  }
  return end(self, group);
}

/* ---- over all ranks: between their hosts */

static Comm *host_of(Comm *comm) {
  return ((NcclComm *)comm)->world->host;
}

static bool barrier(Comm *comm) {
  return host_of(comm)->ops->barrier(host_of(comm));
}

static bool gather_bytes(Comm *comm, const void *from, void *to, size_t size_bytes) {
  return host_of(comm)->ops->gather_bytes(host_of(comm), from, to, size_bytes);
}

static bool broadcast_bytes(Comm *comm, int32_t root, void *bytes, size_t size_bytes) {
  return host_of(comm)->ops->broadcast_bytes(host_of(comm), root, bytes, size_bytes);
}

static bool share_bytes(Comm *comm, uint32_t axes, int32_t member, void *bytes, size_t size_bytes) {
  return host_of(comm)->ops->share_bytes(host_of(comm), axes, member, bytes, size_bytes);
}

static void leave(Comm *comm) {
  host_of(comm)->ops->leave(host_of(comm));
}

static void abort_job(Comm *comm) {
  atomic_store(&((NcclComm *)comm)->world->is_aborted, true);
  host_of(comm)->ops->abort(host_of(comm));
}

static bool is_aborted(const Comm *comm) {
  return is_over(((const NcclComm *)comm)->world);
}

static int32_t members(const Comm *comm, uint32_t number) {
  const NcclComm *self = (const NcclComm *)comm;
  const NcclWorld *world = self->world;
  return mesh_comm(&world->mesh, world->plan, number, world->rank).member_count;
}

static const CommOps nccl_ops = {
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

static int32_t ids_of(int32_t members_count) {
  return (members_count + MEMBERS_AN_ID - 1) / MEMBERS_AN_ID;
}

/* The first member of the id's block, in NCCL's distribution: the first blocks have one more
 * member. */
static int32_t id_maker(int32_t members_count, int32_t id) {
  int32_t ids = ids_of(members_count), more = members_count % ids;
  return id * (members_count / ids) + (id < more ? id : more);
}

/* Gathers the ids of this rank's group: each rank that makes one puts it where all ranks look for
 * it. */
static bool gather_ids(NcclWorld *world, const MeshGroup *at, uint32_t axes_mask, NcclId *ids,
                       Status *status) {
  NcclId own = {{0}}, *all = calloc((size_t)world->mesh.rank_count, sizeof *all);
  int32_t count = ids_of(at->member_count);
  if (all == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for NCCL's ids");
  bool good = true;
  for (int32_t id = 0; good && id < count; id++)
    if (id_maker(at->member_count, id) == at->member)
      good = nccl_good(world, world->api->get_unique_id(&own), "ncclGetUniqueId", status);
  if (good && !world->host->ops->gather_bytes(world->host, &own, all, sizeof own))
    good = status_fail(status, STATUS_ECHO, "aborted");
  for (int32_t rank = 0; good && rank < world->mesh.rank_count; rank++) {
    MeshGroup other = mesh_group(&world->mesh, axes_mask, rank);
    for (int32_t id = 0; other.group == at->group && id < count; id++)
      if (id_maker(at->member_count, id) == other.member) ids[id] = all[rank];
  }
  free(all);
  return good;
}

/* "ncclCommSplit, communicator dp on lane gather" */
typedef struct OpeningName {
  char text[160];
} OpeningName;

static OpeningName opening_name(const NcclWorld *world, const char *call, uint32_t comm,
                                uint32_t lane) {
  const Plan *plan = world->plan;
  OpeningName name;
  (void)snprintf(name.text, sizeof name.text, "%s, communicator %s on lane %s", call,
                 plan_string(plan, plan->comms[comm].name), plan_lane_name(plan, lane));
  return name;
}

/* From ids, which all ranks of the job exchange. */
static bool open_anew(NcclWorld *world, uint32_t comm, uint32_t lane, const MeshGroup *at,
                      Status *status) {
  NcclGroup *group = group_of(world, comm, lane);
  OpeningName name = opening_name(world, "ncclCommInitRank", comm, lane);
  NcclConfig config = {sizeof config, (unsigned)NCCL_CONFIG_MAGIC, NCCL_CONFIG_VERSION, 0};
  NcclId *ids = calloc((size_t)ids_of(at->member_count), sizeof *ids);
  if (ids == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for NCCL's ids");
  bool good = gather_ids(world, at, world->plan->comms[comm].axes_mask, ids, status);
  if (good) {
    int result = world->api->init_rank(&group->handle, at->member_count, at->member,
                                       ids_of(at->member_count), ids, &config);
    good = nccl_good(world, settle_open(world, group->handle, result), name.text, status);
  }
  free(ids);
  return good;
}

/* The smallest open communicator that has all members of this one; NULL: none. One of the same
 * members and lane counts too. */
static const NcclGroup *parent_of(const NcclWorld *world, uint32_t axes_mask) {
  const Plan *plan = world->plan;
  const NcclGroup *best = NULL;
  for (uint32_t comm = 0; comm < plan->comms_count; comm++)
    for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
      const NcclGroup *group = group_of(world, comm, lane);
      bool has_all = (plan->comms[comm].axes_mask & axes_mask) == axes_mask;
      if (has_all && group->handle != NULL && (best == NULL || group->count < best->count))
        best = group;
    }
  return best;
}

/* The members agree over the connections that they have: no ids, and no new thread that all of them
 * connect to. The parts share nothing with the whole (splitShare stays 0), for NCCL runs the
 * kernels of communicators that share one after the other, and lanes are there to run beside each
 * other. */
static bool split_off(NcclWorld *world, const NcclGroup *parent, uint32_t comm, uint32_t lane,
                      const MeshGroup *at, Status *status) {
  NcclGroup *group = group_of(world, comm, lane);
  OpeningName name = opening_name(world, "ncclCommSplit", comm, lane);
  int result = world->api->split(parent->handle, at->group, at->member, &group->handle, NULL);
  result = settle_open(world, parent->handle, result);
  if (result == NCCL_DONE && group->handle == NULL)
    return status_fail(status, STATUS_WORLD, "%s: NCCL left no communicator", name.text);
  if (result == NCCL_DONE) result = settle_open(world, group->handle, result);
  return nccl_good(world, result, name.text, status);
}

static bool open_group(NcclWorld *world, uint32_t comm, uint32_t lane, Status *status) {
  uint32_t axes_mask = world->plan->comms[comm].axes_mask;
  MeshGroup at = mesh_comm(&world->mesh, world->plan, comm, world->rank);
  NcclGroup *group = group_of(world, comm, lane);
  *group = (NcclGroup){NULL, at.member_count, at.member, NULL};
  if ((plan_comm_lanes(world->plan, comm) >> lane & 1u) == 0) return true;
  const NcclGroup *parent = world->api->split != NULL ? parent_of(world, axes_mask) : NULL;
  return parent != NULL ? split_off(world, parent, comm, lane, &at, status)
                        : open_anew(world, comm, lane, &at, status);
}

static int32_t members_of(const NcclWorld *world, uint32_t comm) {
  return mesh_comm(&world->mesh, world->plan, comm, world->rank).member_count;
}

/* The plan's communicator that is opened after so many others: those with most members first, as
 * smaller ones may be split from them. */
static uint32_t opened_as(const NcclWorld *world, uint32_t number) {
  for (uint32_t comm = 0;; comm++) {
    uint32_t before = 0;
    for (uint32_t other = 0; other < world->plan->comms_count; other++)
      before += members_of(world, other) > members_of(world, comm) ||
                (members_of(world, other) == members_of(world, comm) && other < comm);
    if (before == number) return comm;
  }
}

/* Every rank makes the same calls in the same order: all of it follows from the plan. */
static bool open_groups(NcclWorld *world, Status *status) {
  for (uint32_t number = 0; number < world->plan->comms_count; number++) {
    uint32_t comm = opened_as(world, number);
    for (uint32_t lane = 0; lane < world->plan->lanes_count; lane++)
      if (!open_group(world, comm, lane, status)) return false;
  }
  return true;
}

NcclWorld *nccl_world_open(const NcclApi *api, const Plan *plan, const Mesh *mesh, int32_t rank,
                           Comm *host, Status *status) {
  NcclWorld *world = calloc(1, sizeof *world);
  if (world != NULL) {
    *world = (NcclWorld){.api = api, .plan = plan, .mesh = *mesh, .rank = rank, .host = host};
    world->group = calloc((size_t)plan->comms_count * plan->lanes_count + 1, sizeof *world->group);
    for (uint32_t lane = 0; lane < plan->lanes_count; lane++)
      world->lane[lane] = (NcclComm){.base = {.ops = &nccl_ops}, .world = world, .lane = lane};
    if (world->group != NULL && open_groups(world, status)) return world;
  }
  if (world == NULL || world->group == NULL)
    (void)status_fail(status, STATUS_WORLD, "not enough memory for NCCL");
  if (world != NULL) atomic_store(&world->is_aborted, true);
  nccl_world_close(world);
  return NULL;
}

/* ---- while the device is waited for, and the end */

static uint32_t group_count(const NcclWorld *world) {
  return world->group != NULL ? world->plan->comms_count * world->plan->lanes_count : 0;
}

static bool look_at(const NcclWorld *world, uint32_t number, Status *status) {
  const Plan *plan = world->plan;
  const NcclGroup *group = &world->group[number];
  int error = NCCL_DONE;
  if (group->handle == NULL) return true;
  int result = world->api->async_error(group->handle, &error);
  if (result == NCCL_DONE) result = error;
  if (result == NCCL_DONE || result == NCCL_UNDER_WAY) return true;
  const PlanComm *comm = &plan->comms[number / plan->lanes_count];
  return status_fail(status, STATUS_WORLD,
                     "NCCL, communicator %s on lane %s, while its work was under way: %s "
                     "(NCCL_DEBUG=WARN tells more)",
                     plan_string(plan, comm->name),
                     plan_lane_name(plan, number % plan->lanes_count),
                     world->api->error_string(result));
}

bool nccl_world_look(void *context, Status *status) {
  const NcclWorld *world = context;
  if (is_over(world)) return status_fail(status, STATUS_ECHO, "NCCL: another rank ended");
  for (uint32_t i = 0; i < group_count(world); i++)
    if (!look_at(world, i, status)) return false;
  return true;
}

/* Only once: an aborted communicator no longer exists. All in one group, whose end waits: the abort
 * of one waits until its kernels are over; they may be queued after kernels of another
 * communicator, which end only when that one is aborted, too. */
void nccl_world_abort(NcclWorld *world) {
  if (world == NULL || world->is_gone) return;
  atomic_store(&world->is_aborted, true);
  world->is_gone = true;
  (void)world->api->group_start();
  for (uint32_t i = 0; i < group_count(world); i++)
    if (world->group[i].handle != NULL) (void)world->api->abort(world->group[i].handle);
  (void)world->api->group_end();
}

int32_t nccl_world_hold(NcclWorld *world, void *at, size_t size_bytes) {
  const NcclApi *api = world->api;
  int32_t taken = 0;
  for (uint32_t i = 0; api->hold != NULL && i < group_count(world); i++) {
    NcclGroup *group = &world->group[i];
    if (group->handle == NULL) continue;
    int result =
        settle(world, group->handle, api->hold(group->handle, at, size_bytes, &group->held));
    if (result != NCCL_DONE) group->held = NULL;
    taken += result == NCCL_DONE && group->held != NULL;
  }
  return taken;
}

/* False: a member has ended or failed, and destroying the communicator would wait for it. */
static bool close_group(const NcclWorld *world, NcclGroup *group) {
  const NcclApi *api = world->api;
  if (group->handle == NULL) return true;
  if (group->held != NULL)
    (void)settle(world, group->handle, api->let_go(group->handle, group->held));
  if (settle(world, group->handle, api->finalize(group->handle)) != NCCL_DONE) return false;
  (void)api->destroy(group->handle);
  group->handle = NULL;
  return true;
}

void nccl_world_close(NcclWorld *world) {
  if (world == NULL) return;
  bool good = !atomic_load(&world->is_aborted);
  for (uint32_t i = 0; good && i < group_count(world); i++)
    good = close_group(world, &world->group[i]);
  if (!good) nccl_world_abort(world);
  free(world->group);
  free(world);
}

void nccl_world_stream(NcclWorld *world, uint32_t lane, void *stream) {
  world->lane[lane].stream = stream;
}

Comm *nccl_comm(NcclWorld *world) {
  return &world->lane[plan_main_lane(world->plan)].base;
}

CommLanes nccl_comm_beside(NcclWorld *world) {
  CommLanes lanes = {{NULL}};
  for (uint32_t lane = 0; lane < world->plan->lanes_count; lane++)
    if (lane != plan_main_lane(world->plan)) lanes.at[lane] = &world->lane[lane].base;
  return lanes;
}
