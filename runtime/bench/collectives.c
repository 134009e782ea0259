/* collectives.c -- sums between ranks that are threads of this process, one a core, as plans for
 * processors run them. */
#include <pthread.h>
#include <stdlib.h>

#include "runtime/bench/bench.h"
#include "runtime/comm/local.h"
#include "runtime/process/cgroup.h"

enum { RANKS_MOST = 64, ELEMENTS = 4 << 20, SUMS = 8, SMALL_ELEMENTS = 16, SMALL_SUMS = 2000 };

typedef struct SumRank {
  pthread_t thread;
  LocalWorld *world;
  pthread_barrier_t *start;
  int32_t number;
  float *x;
  double sum_s, small_s; /* of one */
  bool good;
} SumRank;

static bool run_sums(SumRank *rank, Comm *comm, int32_t sums, int64_t count, double *each_s) {
  const CommElements elements = {count, DTYPE_F32};
  bool good = comm->ops->all_reduce(comm, 0, rank->x, rank->x, elements, REDUCE_SUM);
  const double from_s = bench_now_s();
  for (int32_t i = 0; i < sums && good; i++)
    good = comm->ops->all_reduce(comm, 0, rank->x, rank->x, elements, REDUCE_SUM);
  *each_s = (bench_now_s() - from_s) / sums;
  return good;
}

static void *rank_main(void *argument) {
  SumRank *rank = argument;
  Comm *comm = local_comm(rank->world, rank->number, NULL);
  rank->x = calloc(ELEMENTS, sizeof *rank->x);
  if (rank->x == NULL) comm->ops->abort(comm); /* the others leave */
  pthread_barrier_wait(rank->start);
  rank->good = rank->x != NULL && run_sums(rank, comm, SUMS, ELEMENTS, &rank->sum_s) &&
               run_sums(rank, comm, SMALL_SUMS, SMALL_ELEMENTS, &rank->small_s);
  comm->ops->leave(comm);
  free(rank->x);
  return NULL;
}

/* Runs all ranks. Some cannot be started: threads that already run would wait for them without end,
 * so the caller ends the process. */
static bool run_ranks(LocalWorld *world, SumRank *ranks, int32_t count, Status *status) {
  static pthread_barrier_t start;
  bool good = true;
  if (pthread_barrier_init(&start, NULL, (unsigned)count) != 0)
    return status_fail(status, STATUS_WORLD, "not enough memory to measure");
  for (int32_t i = 0; i < count; i++) {
    ranks[i] = (SumRank){.world = world, .start = &start, .number = i};
    if (pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]) != 0)
      return status_fail(status, STATUS_WORLD, "cannot start a thread to measure");
  }
  for (int32_t i = 0; i < count; i++) {
    pthread_join(ranks[i].thread, NULL);
    good = good && ranks[i].good;
  }
  pthread_barrier_destroy(&start);
  return good || status_fail(status, STATUS_WORLD, "not enough memory to measure");
}

/* A plan of one axis and its communicator. */
static LocalWorld *open_world(int32_t count, Status *status) {
  static PlanAxis axis;
  static PlanComm comm = {.axes_mask = 1};
  static PlanLane lane;
  const Plan plan = {.axes = &axis,
                     .axes_count = 1,
                     .comms = &comm,
                     .comms_count = 1,
                     .lanes = &lane,
                     .lanes_count = 1};
  Mesh mesh;
  axis = (PlanAxis){.size = (uint32_t)count, .rank_stride = 1};
  return mesh_read(&mesh, &plan, status) ? local_world_new(&plan, &mesh, 1) : NULL;
}

bool bench_collectives(FILE *out, Status *status) {
  static SumRank ranks[RANKS_MOST];
  const int32_t cores = processors_here() < RANKS_MOST ? processors_here() : RANKS_MOST;
  const int32_t count = cores > 1 ? cores : 2;
  LocalWorld *world = open_world(count, status);
  if (world == NULL) return status_fail(status, STATUS_WORLD, "not enough memory to measure");
  if (!run_ranks(world, ranks, count, status)) return false;
  const double others = count - 1;
  fprintf(out, "collectives %.0f\n", 2 * others / count * ELEMENTS * 4 / ranks[0].sum_s);
  fprintf(out, "messages %.0f\n", 2 * others / ranks[0].small_s);
  local_world_free(world);
  return true;
}
