/* Collectives between threads: right, bitwise equal everywhere, counted.
 * LINK: runtime plan_builder */
#include <pthread.h>
#include <stdlib.h>

#include "kernels/math/bf16.h"
#include "runtime/boot/local.h"
#include "runtime/comm/local.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { ELEMENTS = 100003, RANKS_MAX = 12, CROWD = 300 };

typedef struct World {
  LocalWorld *local;
  Mesh mesh;
  int64_t count;
  DType dtype;
  ReduceOp reduce;
  bool in_place;
  int32_t rounds;
  void *x[CROWD];
  void *y[CROWD];
  int64_t sent_bytes[CROWD];
} World;

/* Communicator 0 is the whole mesh, 1 its outer axis, 2 its inner axis. */
static LocalWorld *open_world(World *world, uint32_t outer, uint32_t inner) {
  static PlanBuilder builder;
  build_free(&builder);
  memset(&builder, 0, sizeof builder);
  build_axes(&builder, build_axis_named(&builder, "dp", outer));
  build_axes(&builder, build_axis_named(&builder, "tp", inner));
  build_strides(&builder);
  for (uint32_t mask = 3; mask > 0; mask--) {
    static const uint32_t order[4] = {0, 2, 1, 3};
    build_comms(&builder, (PlanComm){order[mask], build_string(&builder, "comm")});
  }
  build_device(&builder);
  build_job(&builder, (BuildJob){0});
  /* A tensor that is cut along the inner axis. */
  build_bounds(&builder, (PlanBound){0, outer}), build_bounds(&builder, (PlanBound){0, inner});
  build_layouts(&builder, (PlanLayout){.flat_axes = 2});
  build_tensors(&builder, (PlanTensor){.layer_count = 1});
  build_classes(&builder,
                (PlanClass){.rank_count = outer * inner, .bounds_count = 2, .tensors_count = 1});
  Plan plan = build_view(&builder);
  Status status;
  CHECK(mesh_read(&world->mesh, &plan, &status));
  world->local = local_world_new(&plan, &world->mesh, 1);
  return world->local;
}

static double value_of(int32_t rank, int64_t i) {
  return (double)((i * 7919 + rank * 104729) % 2001 - 1000) / 64.0 + rank;
}

static void fill(World *world) {
  for (int32_t rank = 0; rank < world->mesh.rank_count; rank++)
    for (int64_t i = 0; i < world->count; i++) {
      if (world->dtype == DTYPE_F64) ((double *)world->x[rank])[i] = value_of(rank, i) / 3;
      if (world->dtype == DTYPE_F32) ((float *)world->x[rank])[i] = (float)(value_of(rank, i) / 3);
      if (world->dtype == DTYPE_BF16)
        ((uint16_t *)world->x[rank])[i] = bf16_from_float((float)value_of(rank, i));
    }
}

static void open_arrays(World *world) {
  for (int32_t rank = 0; rank < world->mesh.rank_count; rank++) {
    world->x[rank] = calloc((size_t)world->count, 8);
    world->y[rank] = calloc((size_t)world->count, 8);
  }
  fill(world);
}

static void close_world(World *world) {
  for (int32_t rank = 0; rank < world->mesh.rank_count; rank++) {
    free(world->x[rank]);
    free(world->y[rank]);
  }
  local_world_free(world->local);
}

static void abort_world(void *context) {
  local_world_abort(((World *)context)->local);
}

static bool reduce_body(void *context, int32_t rank, Status *status) {
  (void)status;
  World *world = context;
  Comm *comm = local_comm(world->local, rank, NULL);
  CommElements elements = {world->count, world->dtype};
  void *y = world->in_place ? world->x[rank] : world->y[rank];
  for (int32_t round = 0; round < world->rounds; round++)
    if (!comm->ops->all_reduce(comm, 0, world->x[rank], y, elements, world->reduce)) return false;
  world->sent_bytes[rank] = comm->sent_bytes;
  return true;
}

static void check_all_reduce(uint32_t ranks, DType dtype, bool in_place, ReduceOp reduce) {
  World world = {.count = ELEMENTS, .dtype = dtype, .reduce = reduce, .in_place = in_place};
  world.rounds = 1;
  CHECK(open_world(&world, ranks, 1) != NULL);
  open_arrays(&world);
  Status status;
  CHECK(boot_local((int32_t)ranks, reduce_body, abort_world, &world, &status));
  void **y = in_place ? world.x : world.y;
  size_t bytes = (size_t)(ELEMENTS * dtype_bytes(dtype));
  int64_t sent_bytes = 0;
  for (uint32_t rank = 0; rank < ranks; rank++) {
    CHECK(memcmp(y[rank], y[0], bytes) == 0);
    sent_bytes += world.sent_bytes[rank];
  }
  CHECK_INT(sent_bytes, 2 * (int64_t)(ranks - 1) * (int64_t)bytes);
  for (int64_t i = 0; i < ELEMENTS; i += 997) {
    float sum = 0;
    double most = value_of(0, i);
    for (uint32_t rank = 0; rank < ranks; rank++) {
      sum += dtype == DTYPE_BF16 ? bf16_to_float(bf16_from_float((float)value_of((int32_t)rank, i)))
                                 : (float)(value_of((int32_t)rank, i) / 3);
      most = fmax(most, value_of((int32_t)rank, i));
    }
    if (dtype == DTYPE_F32 && reduce == REDUCE_SUM) CHECK_NEAR(((float *)y[0])[i], sum, 0);
    if (dtype == DTYPE_F32 && reduce == REDUCE_MAX)
      CHECK_NEAR(((float *)y[0])[i], (float)(most / 3), 0);
    if (dtype == DTYPE_F64) CHECK_NEAR(((double *)y[0])[i], sum, 1e-3);
    if (dtype == DTYPE_BF16) CHECK_INT(((uint16_t *)y[0])[i], bf16_from_float(sum));
  }
  close_world(&world);
}

static bool groups_body(void *context, int32_t rank, Status *status) {
  World *world = context;
  Comm *comm = local_comm(world->local, rank, NULL);
  CommElements one = {1, DTYPE_F64};
  double outer = rank, inner = rank, gathered[RANKS_MAX], part, sent[RANKS_MAX], got[RANKS_MAX];
  for (int32_t i = 0; i < RANKS_MAX; i++)
    sent[i] = 100 * rank + i;
  CommPieces share = {(const int64_t[]){1, 1}, 1, DTYPE_F64};
  CommTurn turn = {1, 1, 1, 1, 1, false, DTYPE_F64};
  bool good = comm->ops->members(comm, 1) == 3 && comm->ops->members(comm, 2) == 4 &&
              comm->ops->all_reduce(comm, 1, &outer, &outer, one, REDUCE_SUM) &&
              comm->ops->all_reduce(comm, 2, &inner, &inner, one, REDUCE_SUM) &&
              comm->ops->all_gather(comm, 2, &inner, gathered, &share) &&
              comm->ops->reduce_scatter(comm, 2, sent, &part, &share, REDUCE_SUM) &&
              comm->ops->all_to_all(comm, 2, sent, got, &turn) && comm->ops->barrier(comm);
  int32_t row = rank / 4, column = rank % 4, first = 4 * row;
  good = good && outer == 3 * column + 12 && inner == 4 * first + 6 && gathered[3] == inner;
  good = good && part == 100 * (4 * first + 6) + 4 * column;
  for (int32_t i = 0; i < 4; i++)
    good = good && got[i] == 100 * (first + i) + column;
  return good || status_fail(status, STATUS_OURS, "rank %d computed something else", rank);
}

/* Every kind of meeting, of all ranks of a large group. */
static bool crowd_body(void *context, int32_t rank, Status *status) {
  World *world = context;
  Comm *comm = local_comm(world->local, rank, NULL);
  const CommElements one = {1, DTYPE_F64};
  const CommPieces share = {(const int64_t[]){1, 1}, 1, DTYPE_F64};
  const CommTurn turn = {1, 1, 1, 1, 1, false, DTYPE_F64};
  double sum = rank, gathered[CROWD], part = 0, sent[CROWD], got[CROWD], next = 0, own = rank;
  for (int32_t i = 0; i < CROWD; i++)
    sent[i] = 1000 * rank + i;
  const CommPost posts[] = {{&own, sizeof own, -1, true}, {&next, sizeof next, 1, false}};
  bool good = comm->ops->members(comm, 0) == CROWD &&
              comm->ops->all_reduce(comm, 0, &sum, &sum, one, REDUCE_SUM) &&
              comm->ops->all_gather(comm, 0, &own, gathered, &share) &&
              comm->ops->all_to_all(comm, 0, sent, got, &turn) &&
              comm->ops->reduce_scatter(comm, 0, sent, &part, &share, REDUCE_SUM) &&
              comm->ops->exchange(comm, 0, posts, 2) && comm->ops->barrier(comm);
  const int64_t numbers = CROWD * (CROWD - 1) / 2; /* of all ranks, added up */
  good = good && sum == (double)numbers && next == (rank + 1) % CROWD;
  good = good && part == (double)(1000 * numbers + CROWD * rank);
  for (int32_t i = 0; i < CROWD; i++)
    good = good && gathered[i] == i && got[i] == 1000 * i + rank;
  return good || status_fail(status, STATUS_OURS, "rank %d computed something else", rank);
}

/* State is cut along the inner axis: the last of each column shares, and columns need not share as
 * often as each other. */
static bool share_twice(Comm *comm, int32_t rank, int64_t *own) {
  int64_t before = comm->sent_bytes;
  int32_t column = rank % 2, times = 1 + column;
  bool good = true;
  for (int32_t i = 0; good && i < times; i++) {
    own[0] = 1000 * rank + i;
    good =
        comm->ops->share_bytes(comm, 1, 2, own, sizeof *own) && own[0] == 1000 * (4 + column) + i;
  }
  int64_t sent_bytes = rank == 4 + column ? times * 2 * (int64_t)sizeof *own : 0;
  return good && comm->sent_bytes - before == sent_bytes;
}

/* Every rank reads from every rank, then frees its own memory: a rank that leaves frees what its
 * peers have read. */
static bool bytes_body(void *context, int32_t rank, Status *status) {
  World *world = context;
  Comm *comm = local_comm(world->local, rank, NULL);
  int32_t ranks = world->mesh.rank_count;
  int64_t *own = malloc(3 * sizeof *own), *all = calloc((size_t)ranks, 3 * sizeof *all);
  bool good = true;
  for (int32_t root = 0; good && root < ranks; root++) {
    for (int64_t i = 0; i < 3; i++)
      own[i] = 100 * rank + 10 * root + i;
    good = comm->ops->gather_bytes(comm, own, all, 3 * sizeof *own);
    for (int64_t i = 0; good && i < 3 * ranks; i++)
      good = all[i] == 100 * (i / 3) + 10 * root + i % 3;
    good = good && comm->ops->broadcast_bytes(comm, root, own, 3 * sizeof *own);
    for (int64_t i = 0; good && i < 3; i++)
      good = own[i] == 110 * root + i;
  }
  world->sent_bytes[rank] = comm->sent_bytes;
  good = good && share_twice(comm, rank, own);
  comm->ops->leave(comm);
  free(own);
  free(all);
  return good || status_fail(status, STATUS_OURS, "rank %d has something else", rank);
}

/* Rank 1 fails while the others are in a gather of each other's memory: nobody waits for ever. */
static bool leaving_body(void *context, int32_t rank, Status *status) {
  World *world = context;
  Comm *comm = local_comm(world->local, rank, NULL);
  int64_t *own = calloc(1, sizeof *own), all[4] = {0};
  bool done = rank != 1 && comm->ops->gather_bytes(comm, own, all, sizeof *own);
  if (rank == 1) comm->ops->abort(comm);
  comm->ops->leave(comm);
  free(own);
  if (rank == 1) return status_fail(status, STATUS_WORLD, "rank 1 has lost its disk");
  status->code = STATUS_ECHO;
  return done;
}

static bool failing_body(void *context, int32_t rank, Status *status) {
  World *world = context;
  Comm *comm = local_comm(world->local, rank, NULL);
  if (rank == 2) return status_fail(status, STATUS_WORLD, "rank 2 has lost its disk");
  status->code = 0;
  return comm->ops->barrier(comm);
}

static void test_ends(void) {
  TEST("all ranks of the job tell each other what they have, and leave together") {
    World world = {.count = 1};
    CHECK(open_world(&world, 3, 2) != NULL);
    Status status = {0};
    CHECK(boot_local(6, bytes_body, abort_world, &world, &status));
    CHECK_TEXT(status.text, "");
    CHECK_INT(world.sent_bytes[4], 6 * 5 * 24 + 5 * 24);
    close_world(&world);
  }
  TEST("a rank that fails lets the others leave") {
    World world = {.count = 1};
    CHECK(open_world(&world, 4, 1) != NULL);
    Status status = {0};
    CHECK(!boot_local(4, leaving_body, abort_world, &world, &status));
    CHECK_TEXT(status.text, "rank 1 has lost its disk");
    close_world(&world);
  }
  TEST("the rank that fails first is the cause that is reported") {
    World world = {.count = 1};
    CHECK(open_world(&world, 4, 1) != NULL);
    Status status = {0};
    CHECK(!boot_local(4, failing_body, abort_world, &world, &status));
    CHECK_TEXT(status.text, "rank 2 has lost its disk");
    CHECK_INT(status.code, STATUS_WORLD);
    close_world(&world);
  }
}

int main(void) {
  TEST("an all-reduce is equal on all members, in rank order, and counted") {
    for (uint32_t ranks = 1; ranks <= 5; ranks += 2)
      for (int in_place = 0; in_place < 2; in_place++) {
        check_all_reduce(ranks, DTYPE_F32, in_place, REDUCE_SUM);
        check_all_reduce(ranks, DTYPE_BF16, in_place, REDUCE_SUM);
        check_all_reduce(ranks, DTYPE_F64, in_place, REDUCE_SUM);
        check_all_reduce(ranks, DTYPE_F32, in_place, REDUCE_MAX);
      }
  }
  TEST("sub-meshes of a mesh meet without each other") {
    World world = {.count = 1};
    CHECK(open_world(&world, 3, 4) != NULL);
    Status status = {0};
    CHECK(boot_local(12, groups_body, abort_world, &world, &status));
    CHECK_TEXT(status.text, "");
    close_world(&world);
  }
  TEST("many more ranks than cores meet many times") {
    World world = {.count = 9, .dtype = DTYPE_F64, .reduce = REDUCE_MAX, .rounds = 2000};
    CHECK(open_world(&world, 8, 1) != NULL);
    open_arrays(&world);
    Status status;
    CHECK(boot_local(8, reduce_body, abort_world, &world, &status));
    close_world(&world);
  }
  TEST("a communicator has as many members as the mesh has ranks") {
    World world = {.count = 1};
    CHECK(open_world(&world, CROWD, 1) != NULL);
    Status status = {0};
    CHECK(world.local && boot_local(CROWD, crowd_body, abort_world, &world, &status));
    CHECK_TEXT(status.text, "");
    close_world(&world);
  }
  test_ends();
  CHECK_DONE();
}
