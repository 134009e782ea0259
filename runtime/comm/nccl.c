#include <stdlib.h>
#include <string.h>

#include "runtime/comm/nccl_world.h"
#include "runtime/comm/pieces.h"

enum { MOVES_A_GROUP = 512 };

NcclGroup *nccl_group(const NcclWorld *world, uint32_t comm, uint32_t lane) {
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

static void begin(NcclComm *self) {
  self->moves = 0;
  self->error = self->world->api->group_start();
}

static void note(NcclComm *self, int result) {
  if (self->error == NCCL_DONE && result != NCCL_UNDER_WAY) self->error = result;
}

static bool end(NcclComm *self, const NcclGroup *group) {
  NcclWorld *world = self->world;
  int result = nccl_settle(world, group->handle, world->api->group_end());
  if (self->error == NCCL_DONE) self->error = result;
  if (atomic_load(&world->is_aborted)) return false;
  return nccl_good(world, self->error, "NCCL", &self->base.problem);
}

/* Called before this many moves are added, at the same point by all members: a group holds a
 * limited number, and matching moves of two members must be in the same group. */
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
  const NcclGroup *group = nccl_group(self->world, number, self->lane);
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
  const NcclGroup *group = nccl_group(self->world, number, self->lane);
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
  const NcclGroup *group = nccl_group(self->world, number, self->lane);
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
  const NcclGroup *group = nccl_group(self->world, number, self->lane);
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
  const NcclGroup *group = nccl_group(self->world, number, self->lane);
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
  return nccl_is_over(((const NcclComm *)comm)->world);
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

NcclWorld *nccl_world_open(const NcclApi *api, const Plan *plan, const Mesh *mesh, int32_t rank,
                           Comm *host, Status *status) {
  NcclWorld *world = calloc(1, sizeof *world);
  if (world != NULL) {
    *world = (NcclWorld){.api = api, .plan = plan, .mesh = *mesh, .rank = rank, .host = host};
    world->group = calloc((size_t)plan->comms_count * plan->lanes_count + 1, sizeof *world->group);
    for (uint32_t lane = 0; lane < plan->lanes_count; lane++)
      world->lane[lane] = (NcclComm){.base = {.ops = &nccl_ops}, .world = world, .lane = lane};
    if (world->group != NULL && nccl_open_groups(world, status)) return world;
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
  if (nccl_is_over(world)) return status_fail(status, STATUS_ECHO, "NCCL: another rank ended");
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
        nccl_settle(world, group->handle, api->hold(group->handle, at, size_bytes, &group->held));
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
    (void)nccl_settle(world, group->handle, api->let_go(group->handle, group->held));
  if (nccl_settle(world, group->handle, api->finalize(group->handle)) != NCCL_DONE) return false;
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
