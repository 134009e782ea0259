/* Collectives in pieces, all-to-alls and exchanges between threads, against their definitions.
 * LINK: runtime plan_builder */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/boot/local.h"
#include "runtime/comm/local.h"
#include "runtime/comm/pieces.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { RANKS_MAX = 4, ELEMENTS_MAX = 1 << 18 };

typedef struct World {
  LocalWorld *local;
  Mesh mesh;
  CommPieces pieces;
  CommTurn turn;
  int64_t share;
  bool in_place;
  bool gathers;
  bool beside;
  Threads *threads[RANKS_MAX];
  float *x[RANKS_MAX];
  float *y[RANKS_MAX];
  int64_t sent_bytes[RANKS_MAX];
} World;

static void open_world(World *world, uint32_t ranks) {
  PlanBuilder builder = {0};
  build_axes(&builder, build_axis_named(&builder, "tp", ranks));
  build_strides(&builder);
  build_comms(&builder, (PlanComm){1, build_string(&builder, "tp")});
  build_device(&builder);
  Plan plan = build_view(&builder);
  Status status;
  CHECK(mesh_read(&world->mesh, &plan, &status));
  world->local = local_world_new(&plan, &world->mesh, 1);
  for (uint32_t rank = 0; rank < ranks; rank++) {
    world->x[rank] = malloc(ELEMENTS_MAX * sizeof(float));
    world->y[rank] = malloc(ELEMENTS_MAX * sizeof(float));
    for (int64_t i = 0; i < ELEMENTS_MAX; i++) {
      world->x[rank][i] = (float)((i * 7919 + rank * 104729) % 2003);
      world->y[rank][i] = -1;
    }
  }
  build_free(&builder);
}

static void close_world(World *world) {
  for (int32_t rank = 0; rank < world->mesh.rank_count; rank++) {
    free(world->x[rank]);
    free(world->y[rank]);
    threads_free(world->threads[rank]);
  }
  local_world_free(world->local);
}

static void abort_world(void *context) {
  local_world_abort(((World *)context)->local);
}

static void run(World *world, BootRank *body) {
  Status status = {0};
  CHECK(boot_local(world->mesh.rank_count, body, abort_world, world, &status));
  CHECK_TEXT(status.text, "");
}

static Comm *comm_of(World *world, int32_t rank) {
  return world->beside ? local_comm_beside(world->local, rank).at[LANE_DP]
                       : local_comm(world->local, rank, world->threads[rank]);
}

/* ---- pieces */

static bool pieces_body(void *context, int32_t rank, Status *status) {
  (void)status;
  World *world = context;
  Comm *comm = comm_of(world, rank);
  void *x = world->x[rank], *y = world->y[rank];
  bool done = world->gathers ? comm->ops->all_gather(comm, 0, world->in_place ? NULL : x,
                                                     world->in_place ? x : y, &world->pieces)
                             : comm->ops->reduce_scatter(comm, 0, x, world->in_place ? NULL : y,
                                                         &world->pieces, REDUCE_SUM);
  world->sent_bytes[rank] = comm->sent_bytes;
  return done;
}

/* The definition: pair after pair, piece after piece, member after member. */
typedef struct Element {
  int64_t share_at, whole_at;
  int32_t member;
} Element;

static int64_t list_elements(const World *world, Element *at) {
  int64_t whole = 0, share = 0;
  for (int32_t pair = 0; pair < world->pieces.pair_count; pair++)
    for (int64_t time = 0; time < world->pieces.pair[2 * pair]; time++) {
      int64_t elements = world->pieces.pair[2 * pair + 1];
      for (int32_t member = 0; member < world->mesh.rank_count; member++)
        for (int64_t i = 0; i < elements; i++)
          at[whole] = (Element){share + i, whole, member}, whole++;
      share += elements;
    }
  return whole;
}

static float first_value(int32_t rank, int64_t i) {
  return (float)((i * 7919 + rank * 104729) % 2003);
}

static void check_gathered(World *world, const Element *at, int64_t count, int32_t rank) {
  const float *got = world->in_place ? world->x[rank] : world->y[rank];
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t from = world->in_place ? at[i].whole_at : at[i].share_at;
    wrong += got[at[i].whole_at] != first_value(at[i].member, from);
  }
  CHECK_INT(wrong, 0);
}

static void check_scattered(World *world, const Element *at, int64_t count, int32_t rank) {
  const float *got = world->in_place ? world->x[rank] : world->y[rank];
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; i++) {
    float sum = 0;
    for (int32_t member = 0; member < world->mesh.rank_count; member++)
      sum += first_value(member, at[i].whole_at);
    bool mine = at[i].member == rank;
    if (mine) wrong += got[world->in_place ? at[i].whole_at : at[i].share_at] != sum;
    if (!mine && world->in_place) wrong += got[at[i].whole_at] != first_value(rank, at[i].whole_at);
  }
  CHECK_INT(wrong, 0);
}

static void check_pieces(uint32_t ranks, const int64_t *pair, int32_t pair_count, bool threads) {
  for (int kind = 0; kind < 4; kind++) {
    World world = {.gathers = kind & 1, .in_place = kind & 2, .beside = ranks == 3};
    world.pieces = (CommPieces){pair, pair_count, DTYPE_F32};
    world.share = pieces_share(&world.pieces);
    open_world(&world, ranks);
    for (uint32_t rank = 0; threads && rank < ranks; rank++)
      world.threads[rank] = threads_new(2, NULL);
    run(&world, pieces_body);
    Element *elements = malloc(sizeof *elements * ELEMENTS_MAX);
    int64_t count = list_elements(&world, elements);
    CHECK_INT(count, world.share * ranks);
    for (int32_t rank = 0; rank < (int32_t)ranks; rank++) {
      CHECK_INT(world.sent_bytes[rank], world.share * 4 * (ranks - 1));
      (world.gathers ? check_gathered : check_scattered)(&world, elements, count, rank);
    }
    free(elements);
    close_world(&world);
  }
}

static void test_pieces(void) {
  static const int64_t one[] = {1, 1000}, many[] = {3, 32, 1, 5, 40, 7, 1, 1};
  static const int64_t long_piece[] = {2, 7, 1, 50000, 5, 1};
  TEST("gathers and scatters move the pieces that they should, in place or not") {
    for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++) {
      check_pieces(ranks, one, 1, false);
      check_pieces(ranks, many, 4, false);
    }
  }
  TEST("threads divide a share across its pieces") {
    check_pieces(2, long_piece, 3, true);
  }
}

/* ---- all-to-all */

static bool turn_body(void *context, int32_t rank, Status *status) {
  (void)status;
  World *world = context;
  Comm *comm = comm_of(world, rank);
  bool done = comm->ops->all_to_all(comm, 0, world->x[rank], world->y[rank], &world->turn);
  world->sent_bytes[rank] = comm->sent_bytes;
  return done;
}

/* Element `at` of [outer 2, a 3 * n, middle 2, b 5, inner 4] on `rank`: what it is in the other
 * form, and on which rank. */
static int64_t turned(int64_t at, int64_t n, int64_t rank, int64_t *other) {
  int64_t in = at % 4, j = at / 4 % 5, middle = at / 20 % 2, i = at / 40 % (3 * n);
  int64_t o = at / 40 / (3 * n);
  *other = i / 3;
  return (((o * 3 + i % 3) * 2 + middle) * 5 * n + rank * 5 + j) * 4 + in;
}

static void check_turn(uint32_t ranks, bool back) {
  World world = {.turn = {2, 3, 2, 5, 4, back, DTYPE_F32}};
  open_world(&world, ranks);
  run(&world, turn_body);
  int64_t wrong = 0, n = ranks, count = 2 * 3 * n * 2 * 5 * 4;
  for (int64_t i = 0; i < n * count; i++) {
    int64_t rank = i / count, tall = i % count, other = 0;
    int64_t wide = turned(tall, n, rank, &other);
    wrong += back ? world.y[other][wide] != world.x[rank][tall]
                  : world.y[rank][tall] != world.x[other][wide];
  }
  CHECK_INT(wrong, 0);
  CHECK_INT(world.sent_bytes[0], (n - 1) * count / n * 4);
  close_world(&world);
}

/* ---- exchange */

/* Two operands to the next member and one to the one before; the widths tell them apart. */
static bool ring_body(void *context, int32_t rank, Status *status) {
  (void)status;
  World *world = context;
  Comm *comm = comm_of(world, rank);
  float *x = world->x[rank], *y = world->y[rank];
  for (int32_t round = 0; round < 200; round++) {
    CommPost post[] = {{x, 40, 1, true},        {y, 40, -1, false},    {x + 10, 80, 1, true},
                       {y + 10, 80, -1, false}, {x + 30, 4, -1, true}, {y + 30, 4, 1, false},
                       {x + 31, 0, 1, true},    {y + 31, 0, -1, false}};
    if (rank % 2 == 1 && world->mesh.rank_count >
                             2) { /* the order of posts to different peers, and of kinds, is free */
      CommPost swap = post[0];
      post[0] = post[4], post[4] = post[2], post[2] = post[1], post[1] = swap;
    }
    if (!comm->ops->exchange(comm, 0, post, 8)) return false;
    x[0] += 1;
  }
  world->sent_bytes[rank] = comm->sent_bytes;
  return true;
}

static void check_ring(uint32_t ranks) {
  World world = {.beside = ranks == 2};
  open_world(&world, ranks);
  run(&world, ring_body);
  for (uint32_t rank = 0; rank < ranks; rank++) {
    uint32_t before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
    CHECK_INT(world.sent_bytes[rank], ranks > 1 ? 200 * (40 + 80 + 4) : 0); /* to others */
    CHECK_NEAR(world.y[rank][0], first_value((int32_t)before, 0) + 199, 0);
    for (int i = 1; i < 30; i++)
      CHECK_NEAR(world.y[rank][i], first_value((int32_t)before, i), 0);
    CHECK_NEAR(world.y[rank][30], first_value((int32_t)after, 30), 0);
    CHECK_NEAR(world.y[rank][31], -1, 0);
  }
  close_world(&world);
}

/* A chain: the first only sends, the last only receives, those between do first one, then the
 * other. */
static bool chain_body(void *context, int32_t rank, Status *status) {
  (void)status;
  World *world = context;
  Comm *comm = comm_of(world, rank);
  CommPost receive = {world->y[rank], 4000, -1, false};
  CommPost send = {rank == 0 ? world->x[0] : world->y[rank], 4000, 1, true};
  if (rank > 0 && !comm->ops->exchange(comm, 0, &receive, 1)) return false;
  return rank + 1 == world->mesh.rank_count || comm->ops->exchange(comm, 0, &send, 1);
}

/* Rank 1 never comes. */
static bool left_alone_body(void *context, int32_t rank, Status *status) {
  World *world = context;
  Comm *comm = comm_of(world, rank);
  CommPost post = {world->x[rank], 4, 1, rank != 2};
  if (rank == 1) return status_fail(status, STATUS_WORLD, "rank 1 has lost its network");
  status->code = 0;
  return comm->ops->exchange(comm, 0, &post, 1);
}

static void test_exchange(void) {
  TEST("sends and receives of one exchange go all at once and meet in order") {
    for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++)
      check_ring(ranks);
  }
  TEST("a chain passes on") {
    World world = {0};
    open_world(&world, RANKS_MAX);
    run(&world, chain_body);
    for (int i = 0; i < 1000; i++)
      CHECK_NEAR(world.y[RANKS_MAX - 1][i], first_value(0, i), 0);
    close_world(&world);
  }
  TEST("an abort wakes those whose peer never comes") {
    World world = {0};
    Status status = {0};
    open_world(&world, 3);
    CHECK(!boot_local(3, left_alone_body, abort_world, &world, &status));
    CHECK_TEXT(status.text, "rank 1 has lost its network");
    close_world(&world);
  }
}

/* ---- two threads of one rank */

typedef struct Beside {
  World *world;
  int32_t rank;
  bool done;
} Beside;

static void *beside_main(void *context) {
  Beside *self = context;
  Comm *comm = local_comm_beside(self->world->local, self->rank).at[LANE_DP];
  double sum = 1;
  self->done = true;
  for (int i = 0; i < 100 && self->done; i++) {
    sum = 1;
    self->done =
        comm->ops->all_reduce(comm, 0, &sum, &sum, (CommElements){1, DTYPE_F64}, REDUCE_SUM) &&
        sum == self->world->mesh.rank_count;
  }
  return NULL;
}

static bool two_threads_body(void *context, int32_t rank, Status *status) {
  World *world = context;
  Comm *comm = local_comm(world->local, rank, NULL);
  Beside beside = {world, rank, false};
  pthread_t thread;
  bool good = pthread_create(&thread, NULL, beside_main, &beside) == 0;
  for (int i = 0; i < 100 && good; i++) {
    double most = rank;
    good = comm->ops->all_reduce(comm, 0, &most, &most, (CommElements){1, DTYPE_F64}, REDUCE_MAX) &&
           most == world->mesh.rank_count - 1;
  }
  pthread_join(thread, NULL);
  return (good && beside.done) || status_fail(status, STATUS_OURS, "rank %d met another", rank);
}

static bool delayed_body(void *context, int32_t rank, Status *status) {
  (void)status;
  World *world = context;
  Comm *comm = comm_of(world, rank);
  CommPost post = {world->x[rank], 1000, 1, rank == 0};
  return comm->ops->exchange(comm, 0, &post, 1);
}

int main(void) {
  test_pieces();
  TEST("an all-to-all moves a cut from one dim to another, and back") {
    for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++)
      for (int back = 0; back < 2; back++)
        check_turn(ranks, back);
  }
  test_exchange();
  TEST("two threads of a rank do not meet each other's peers") {
    World world = {0};
    open_world(&world, 3);
    run(&world, two_threads_body);
    close_world(&world);
  }
  TEST("a slow link takes its time") {
    World world = {0};
    open_world(&world, 2);
    local_world_delay(world.local, (CommDelay){.byte_ns = 20000, .message_ns = 5e6});
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    run(&world, delayed_body);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double wait_ns =
        (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
    CHECK(wait_ns >= 1000 * 20000 + 5e6);
    close_world(&world);
  }
  CHECK_DONE();
}
