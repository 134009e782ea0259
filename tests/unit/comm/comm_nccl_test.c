/* Communication through NCCL's stand-in against copies between threads of one process: the same
 * bytes come to the same places, and as many are counted.
 * LINK: runtime nccl_stand_in plan_builder */
#include <stdlib.h>

#include "kernels/math/philox.h"
#include "runtime/boot/local.h"
#include "runtime/comm/local.h"
#include "runtime/comm/nccl.h"
#include "runtime/comm/pieces.h"
#include "runtime/device/device.h"
#include "tests/unit/check.h"
#include "tests/unit/nccl_stand_in.h"
#include "tests/unit/plan_builder.h"

enum {
  CALLS = 12,
  OUTER = 2,
  INNER = 3,
  RANKS = OUTER * INNER,
  MEMBERS_MOST = RANKS,
  FLOATS = 4096
};

typedef struct World {
  const NcclApi *api; /* NULL: the stand-in as it is */
  Plan plan;
  Mesh mesh;
  LocalWorld *local;
  bool is_broken; /* rank 1 calls for another number of elements */
  bool is_async;  /* calls are issued to a device, which is waited for */
  int calls_done; /* of those, by rank 0 */
} World;

/* One call, the same for all members. */
typedef struct Case {
  RecordKind kind;
  uint32_t comm;
  bool in_place;
  ReduceOp reduce;
  int32_t pair_count;
  int64_t pair[4]; /* times, elements */
  CommTurn turn;
  int64_t distance;
} Case;

static const Case cases[] = {
    {.kind = RECORD_ALL_REDUCE, .comm = 0, .pair_count = 1, .pair = {1, 600}},
    {.kind = RECORD_ALL_REDUCE, .comm = 1, .in_place = true, .pair_count = 1, .pair = {1, 600}},
    {.kind = RECORD_ALL_REDUCE, .comm = 2, .reduce = REDUCE_MAX, .pair_count = 1, .pair = {1, 600}},
    {.kind = RECORD_ALL_GATHER, .comm = 0, .pair_count = 1, .pair = {1, 100}},
    {.kind = RECORD_ALL_GATHER, .comm = 2, .in_place = true, .pair_count = 1, .pair = {1, 100}},
    {.kind = RECORD_ALL_GATHER, .comm = 1, .pair_count = 2, .pair = {3, 7, 1, 50}},
    {.kind = RECORD_ALL_GATHER, .comm = 2, .in_place = true, .pair_count = 1, .pair = {300, 2}},
    {.kind = RECORD_REDUCE_SCATTER, .comm = 0, .pair_count = 1, .pair = {1, 100}},
    {.kind = RECORD_REDUCE_SCATTER, .comm = 1, .in_place = true, .pair_count = 1, .pair = {1, 99}},
    {.kind = RECORD_REDUCE_SCATTER, .comm = 2, .pair_count = 2, .pair = {3, 7, 1, 50}},
    {.kind = RECORD_REDUCE_SCATTER, .comm = 2, .in_place = true, .pair_count = 1, .pair = {9, 11}},
    {.kind = RECORD_REDUCE_SCATTER,
     .comm = 1,
     .reduce = REDUCE_MAX,
     .pair_count = 1,
     .pair = {4, 5}},
    {.kind = RECORD_ALL_TO_ALL, .comm = 2, .turn = {2, 3, 2, 4, 5, false, DTYPE_F32}},
    {.kind = RECORD_ALL_TO_ALL, .comm = 2, .turn = {2, 3, 2, 4, 5, true, DTYPE_F32}},
    {.kind = RECORD_ALL_TO_ALL, .comm = 0, .turn = {4, 25, 2, 1, 1, false, DTYPE_F32}},
    {.kind = RECORD_EXCHANGE, .comm = 2, .distance = 1, .pair = {1, 64}},
    {.kind = RECORD_EXCHANGE, .comm = 1, .distance = -1, .pair = {1, 64}},
    {.kind = RECORD_EXCHANGE, .comm = 2, .distance = 3, .pair = {1, 64}}, /* to itself */
};

static Plan make_plan(PlanBuilder *builder) {
  build_axes(builder, build_axis_named(builder, "dp", OUTER));
  build_axes(builder, build_axis_named(builder, "tp", INNER));
  build_strides(builder);
  for (uint32_t i = 0; i < 3; i++) {
    static const uint32_t mask[3] = {3, 1, 2};
    build_comms(builder, (PlanComm){mask[i], build_string(builder, "comm")});
    build_records(builder, (PlanRecord){.kind = RECORD_ALL_REDUCE, .comm = i});
  }
  build_device(builder);
  return build_view(builder);
}

/* Where a call reads and writes: x, y, and for an exchange what is sent second and comes second. */
typedef struct Arrays {
  float x[FLOATS], y[FLOATS];
} Arrays;

static void fill(Arrays *arrays, int32_t rank, uint64_t seed) {
  for (int64_t i = 0; i < FLOATS; i++) {
    uint32_t word[4];
    philox4(seed, rank, (uint64_t)i, word);
    arrays->x[i] = (float)(int32_t)word[0] / 65536;
    arrays->y[i] = (float)(int32_t)word[1] / 65536;
  }
}

static bool call(Comm *comm, const Case *c, Arrays *at, int64_t more) {
  CommPieces pieces = {c->pair, c->pair_count, DTYPE_F32};
  CommElements elements = {c->pair[1] + more, DTYPE_F32};
  const CommPost posts[] = {
      {at->y, 4 * c->pair[1], -c->distance, false},
      {at->y + 100, 4, -c->distance, false},
      {at->x, 4 * c->pair[1], c->distance, true},
      {at->x + 100, 4, c->distance, true},
  };
  switch (c->kind) {
  case RECORD_ALL_REDUCE:
    return comm->ops->all_reduce(comm, c->comm, at->x, c->in_place ? at->x : at->y, elements,
                                 c->reduce);
  case RECORD_ALL_GATHER:
    return comm->ops->all_gather(comm, c->comm, c->in_place ? NULL : at->x, at->y, &pieces);
  case RECORD_REDUCE_SCATTER:
    return comm->ops->reduce_scatter(comm, c->comm, at->x, c->in_place ? NULL : at->y, &pieces,
                                     c->reduce);
  case RECORD_ALL_TO_ALL: return comm->ops->all_to_all(comm, c->comm, at->x, at->y, &c->turn);
  case RECORD_EXCHANGE: return comm->ops->exchange(comm, c->comm, posts, 4);
  default: abort();
  }
}

static bool same_bytes(const void *a, const void *b, size_t size_bytes) {
  return memcmp(a, b, size_bytes) == 0;
}

/* In place, only a member's own pieces of x are the sum, and the others' may be anything. */
static bool same(const Case *c, const Arrays *a, const Arrays *b, MeshGroup at) {
  if (!same_bytes(a->y, b->y, sizeof a->y)) return false;
  if (c->kind != RECORD_REDUCE_SCATTER || !c->in_place) return same_bytes(a->x, b->x, sizeof a->x);
  CommPieces pieces = {c->pair, c->pair_count, DTYPE_F32};
  PieceWalk walk = pieces_walk(&pieces, 0, pieces_share(&pieces));
  Piece piece;
  while (pieces_next(&walk, &piece)) {
    int64_t first = piece_whole_at(&piece, at.member_count, at.member);
    if (!same_bytes(a->x + first, b->x + first, (size_t)piece.count * 4)) return false;
  }
  return true;
}

static bool run_cases(const World *world, Comm *local, Comm *nccl, int32_t rank, Status *status) {
  static const uint32_t masks[] = {3, 1, 2};
  Arrays *want = malloc(sizeof *want), *got = malloc(sizeof *got);
  bool good = true;
  for (size_t i = 0; good && i < sizeof cases / sizeof *cases; i++) {
    MeshGroup at = mesh_group(&world->mesh, masks[cases[i].comm], rank);
    int64_t before = local->sent_bytes;
    fill(want, rank, i), fill(got, rank, i);
    nccl->sent_bytes = 0;
    good = call(local, &cases[i], want, 0) && call(nccl, &cases[i], got, 0);
    *status = nccl->problem;
    if (good && !same(&cases[i], want, got, at))
      good = status_fail(status, STATUS_OURS, "rank %d, case %d: other bytes", rank, (int)i);
    /* Threads count what others have copied by now; all of it after the next meeting. */
    good = good && local->ops->barrier(local);
    if (good && cases[i].kind == RECORD_EXCHANGE && nccl->sent_bytes != local->sent_bytes - before)
      good = status_fail(status, STATUS_OURS, "rank %d, case %d: %lld bytes sent", rank, (int)i,
                         (long long)nccl->sent_bytes);
  }
  free(want), free(got);
  return good;
}

static bool break_contract(Comm *nccl, int32_t rank, Status *status) {
  Arrays *at = calloc(1, sizeof *at);
  bool good = call(nccl, &cases[0], at, rank == 1);
  free(at);
  *status = nccl->problem;
  return good;
}

typedef struct Issued {
  Comm *comm;
  Arrays arrays;
  int done;
} Issued;

static bool run_issued(const Work *work, Queue *queue, Status *status) {
  Issued *issued = work->context;
  (void)queue;
  bool done = call(issued->comm, &cases[0], &issued->arrays, 0);
  issued->done += done;
  *status = issued->comm->problem;
  if (!done && status->code == 0) status->code = STATUS_ECHO;
  return done;
}

/* As a rank does: it issues more than will ever end, and waits. */
static bool issue_and_wait(World *world, NcclWorld *nccl, int32_t rank, Status *status) {
  Issued *issued = calloc(1, sizeof *issued);
  const Work work = {.run = run_issued, .context = issued};
  issued->comm = nccl_comm(nccl);
  Device *device = device_cpu_open(&(DeviceSetup){.lane_count = world->plan.lanes_count,
                                                  .main_lane = plan_main_lane(&world->plan),
                                                  .issues_only = true,
                                                  .look = nccl_world_look,
                                                  .look_context = nccl},
                                   status);
  if (device == NULL) abort();
  Queue *queue = device->ops->queue(device, plan_main_lane(&world->plan));
  bool good = true;
  for (uint64_t number = 1; good && number <= CALLS; number++)
    good = device->ops->issue(queue, &work, number, status);
  good = good && device->ops->await(queue, CALLS, status);
  if (!good && status->code != STATUS_ECHO) issued->comm->ops->abort(issued->comm);
  if (!good) nccl_world_abort(nccl);
  device->ops->close(device);
  if (rank == 0) world->calls_done = issued->done;
  free(issued);
  return good;
}

static bool rank_body(void *context, int32_t rank, Status *status) {
  World *world = context;
  Comm *local = local_comm(world->local, rank, NULL);
  NcclWorld *nccl = nccl_world_open(world->api, &world->plan, &world->mesh, rank, local, status);
  if (nccl == NULL) return false;
  Comm *comm = nccl_comm(nccl);
  bool good = world->is_async    ? issue_and_wait(world, nccl, rank, status)
              : world->is_broken ? break_contract(comm, rank, status)
                                 : run_cases(world, local, comm, rank, status);
  if (!good) comm->ops->abort(comm);
  nccl_world_close(nccl);
  return good;
}

static void abort_world(void *context) {
  local_world_abort(((World *)context)->local);
  nccl_stand_in_break();
}

static bool run_world(World how, Status *status, int *calls_done) {
  PlanBuilder *builder = calloc(1, sizeof *builder);
  World world = how;
  if (world.api == NULL) world.api = nccl_stand_in();
  world.plan = make_plan(builder);
  CHECK(mesh_read(&world.mesh, &world.plan, status));
  world.local = local_world_new(&world.plan, &world.mesh, 1);
  bool good = boot_local(RANKS, rank_body, abort_world, &world, status);
  local_world_free(world.local);
  *calls_done = world.calls_done;
  build_free(builder);
  free(builder);
  return good;
}

static void test_late(void) {
  Status status = {0};
  int calls_done = 0;
  nccl_stand_in_fail_split(SPLIT_NEVER_ENDS);
  nccl_opening_most(1);
  CHECK(!run_world((World){0}, &status, &calls_done));
  nccl_stand_in_fail_split(SPLIT_NONE);
  nccl_opening_most(60);
  CHECK_TEXT(status.text,
             "ncclCommSplit, communicator comm on lane compute: its members have not met within 1 "
             "s (NCCL_DEBUG=INFO tells how far they are, NCCL_SOCKET_IFNAME chooses the network)");
  CHECK_INT(status.code, STATUS_WORLD);
  CHECK_INT(nccl_stand_in_open() + nccl_stand_in_wrongs(), 0);
}

static void test_error(void) {
  Status status = {0};
  int calls_done = 0;
  nccl_stand_in_fail(2, 5);
  CHECK(!run_world((World){.is_async = true}, &status, &calls_done));
  CHECK_TEXT(status.text, "NCCL, communicator comm on lane compute, while its work was under way: "
                          "unhandled system error (NCCL_DEBUG=WARN tells more)");
  CHECK_INT(status.code, STATUS_WORLD);
  CHECK_INT(nccl_stand_in_wrongs(), 0);
  CHECK(calls_done == 3 || calls_done == 4); /* the end of the fourth may not be seen any more */
  CHECK_INT(nccl_stand_in_open(), 0);
}

int main(void) {
  int calls_done = 0;
  TEST("members that never meet end the job, and say where they were to meet") test_late();
  TEST("every call moves what threads of one process move") {
    Status status = {0};
    CHECK(run_world((World){0}, &status, &calls_done));
    CHECK_TEXT(status.text, "");
    CHECK_INT(nccl_stand_in_open(), 0);
  }
  TEST("rows and columns of the mesh are split from the communicator of all ranks") {
    Status status = {0};
    (void)nccl_stand_in_splits();
    CHECK(run_world((World){.is_async = true}, &status, &calls_done));
    CHECK_INT(nccl_stand_in_splits(), 2 * RANKS);
  }
  TEST("a library that cannot split makes each from ids, and moves the same") {
    Status status = {0};
    NcclApi old = *nccl_stand_in();
    old.split = NULL;
    CHECK(run_world((World){.api = &old}, &status, &calls_done));
    CHECK_TEXT(status.text, "");
    CHECK_INT(nccl_stand_in_splits(), 0);
    CHECK_INT(nccl_stand_in_open(), 0);
  }
  TEST("a member that fails while it splits ends the job, and says which communicator") {
    Status status = {0};
    nccl_stand_in_fail_split(4);
    CHECK(!run_world((World){0}, &status, &calls_done));
    nccl_stand_in_fail_split(SPLIT_NONE);
    CHECK_TEXT(status.text, "ncclCommSplit, communicator comm on lane compute: unhandled system "
                            "error (NCCL_DEBUG=WARN tells more)");
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK_INT(nccl_stand_in_open() + nccl_stand_in_wrongs(), 0);
  }
  TEST("a rank that calls for something else ends the job, and says why") {
    Status status = {0};
    CHECK(!run_world((World){.is_broken = true}, &status, &calls_done));
    CHECK_TEXT(status.text, "NCCL: invalid usage (NCCL_DEBUG=WARN tells more)");
    CHECK(nccl_stand_in_wrongs() > 0);
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK_INT(nccl_stand_in_open(), 0);
  }
  TEST("what was issued is awaited, while communicators are looked at") {
    Status status = {0};
    CHECK(run_world((World){.is_async = true}, &status, &calls_done));
    CHECK_INT(calls_done, CALLS);
    CHECK_INT(nccl_stand_in_open(), 0);
  }
  TEST("an error while a call is under way ends the wait of every rank, and says where it is")
  test_error();
  CHECK_DONE();
}
