/* local.c -- members publish addresses, meet, and read each other's memory.
 *
 * An all-reduce is a reduce-scatter and an all-gather in place: member m alone reads and writes
 * part m of all arrays until everybody meets again, then copies the other parts from their owners.
 */
#include "runtime/comm/local.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/comm/barrier.h"
#include "runtime/comm/reduce.h"

enum {
  MEMBERS_MAX = 256,
  PART_ELEMENTS = 64, /* parts begin at multiples: no cache line has two writers */
  PARALLEL_ELEMENTS =
      32 * 1024, /* below this a thread's wake-up costs more than its share of work */
  SPINS_WITH_CORES = 2000,
  SPINS_WITHOUT_CORES = 16
};

typedef struct Group {
  Barrier barrier;
  int32_t count;
  const void *x[MEMBERS_MAX]; /* published between two meetings */
  void *y[MEMBERS_MAX];
} Group;

/* The groups of one communicator. */
typedef struct GroupList {
  Group *at;
  int32_t count;
} GroupList;

typedef struct LocalComm {
  Comm base;
  LocalWorld *world;
  int32_t rank;
  Threads *threads;
} LocalComm;

struct LocalWorld {
  Mesh mesh;
  uint32_t comm_count;
  uint32_t *axes_mask; /* of each communicator */
  GroupList *groups;   /* of each communicator */
  Barrier all;
  LocalComm *ranks;
};

typedef struct Meeting {
  Group *group;
  int32_t member;
} Meeting;

static Meeting meeting(const Comm *self, uint32_t comm) {
  const LocalComm *local = (const LocalComm *)self;
  MeshGroup at = mesh_group(&local->world->mesh, local->world->axes_mask[comm], local->rank);
  return (Meeting){&local->world->groups[comm].at[at.group], at.member};
}

static bool publish(Meeting at, const void *x, void *y) {
  at.group->x[at.member] = x;
  at.group->y[at.member] = y;
  return barrier_wait(&at.group->barrier);
}

typedef struct Part {
  int64_t first;
  int64_t count;
} Part;

static Part part_of(int64_t count, int32_t parts, int32_t part) {
  int64_t size = (count + parts - 1) / parts;
  size = (size + PART_ELEMENTS - 1) / PART_ELEMENTS * PART_ELEMENTS;
  int64_t first = part * size < count ? part * size : count;
  int64_t end = first + size < count ? first + size : count;
  return (Part){first, end - first};
}

typedef struct ReduceJob {
  const void *const *x;
  void *y;
  int32_t members;
  int32_t tasks;
  Part part;
  DType dtype;
  ReduceOp reduce;
} ReduceJob;

static void reduce_task(void *context, int64_t task, int32_t worker) {
  (void)worker;
  const ReduceJob *job = context;
  Part mine = part_of(job->part.count, job->tasks, (int32_t)task);
  reduce_range(job->y, job->x, job->members, job->part.first + mine.first,
               (CommElements){mine.count, job->dtype}, job->reduce);
}

static void reduce_part(const Comm *self, const ReduceJob *job) {
  const LocalComm *local = (const LocalComm *)self;
  ReduceJob shared = *job;
  bool parallel = local->threads && job->part.count >= PARALLEL_ELEMENTS;
  shared.tasks = parallel ? threads_count(local->threads) : 1;
  if (parallel)
    threads_run(local->threads, shared.tasks, reduce_task, &shared);
  else
    reduce_task(&shared, 0, 0);
}

static void copy_bytes(void *to, const void *from, int64_t to_first, int64_t from_first,
                       int64_t count, int64_t element_bytes) {
  void *target = (char *)to + to_first * element_bytes;
  const void *source = (const char *)from + from_first * element_bytes;
  if (count > 0 && target != source) memcpy(target, source, (size_t)(count * element_bytes));
}

/* Not in place, the sums are built in y, which nobody else reads in this phase. */
static bool local_all_reduce(Comm *self, uint32_t comm, const void *x, void *y,
                             CommElements elements, ReduceOp reduce) {
  Meeting at = meeting(self, comm);
  int64_t element_bytes = dtype_bytes(elements.dtype);
  Group *group = at.group;
  if (group->count == 1) {
    copy_bytes(y, x, 0, 0, elements.count, element_bytes);
    return true;
  }
  if (!publish(at, x, y)) return false;
  Part mine = part_of(elements.count, group->count, at.member);
  reduce_part(self, &(ReduceJob){group->x, y, group->count, 1, mine, elements.dtype, reduce});
  if (!barrier_wait(&group->barrier)) return false;
  for (int32_t i = 0; i < group->count; i++) {
    Part part = part_of(elements.count, group->count, i);
    if (i == at.member) continue;
    copy_bytes(y, group->y[i], part.first, part.first, part.count, element_bytes);
    /* sent: part i of x to member i, and this member's part of y to each of the others */
    self->sent_bytes += (part.count + mine.count) * element_bytes;
  }
  return barrier_wait(&group->barrier);
}

static bool local_all_gather(Comm *self, uint32_t comm, const void *x, void *y,
                             CommElements elements) {
  Meeting at = meeting(self, comm);
  if (!publish(at, x, y)) return false;
  for (int32_t i = 0; i < at.group->count; i++)
    copy_bytes(y, at.group->x[i], i * elements.count, 0, elements.count,
               dtype_bytes(elements.dtype));
  self->sent_bytes += (at.group->count - 1) * elements.count * dtype_bytes(elements.dtype);
  return barrier_wait(&at.group->barrier);
}

/* In place, y is this member's part of x: nobody else reads that part. */
static bool local_reduce_scatter(Comm *self, uint32_t comm, const void *x, void *y,
                                 CommElements elements, ReduceOp reduce) {
  Meeting at = meeting(self, comm);
  if (!publish(at, x, y)) return false;
  const void *parts[MEMBERS_MAX];
  for (int32_t i = 0; i < at.group->count; i++)
    parts[i] =
        (const char *)at.group->x[i] + at.member * elements.count * dtype_bytes(elements.dtype);
  reduce_part(self, &(ReduceJob){
                        parts, y, at.group->count, 1, {0, elements.count}, elements.dtype, reduce});
  self->sent_bytes += (at.group->count - 1) * elements.count * dtype_bytes(elements.dtype);
  return barrier_wait(&at.group->barrier);
}

static bool local_all_to_all(Comm *self, uint32_t comm, const void *x, void *y,
                             CommElements elements) {
  Meeting at = meeting(self, comm);
  if (!publish(at, x, y)) return false;
  for (int32_t i = 0; i < at.group->count; i++)
    copy_bytes(y, at.group->x[i], i * elements.count, at.member * elements.count, elements.count,
               dtype_bytes(elements.dtype));
  self->sent_bytes += (at.group->count - 1) * elements.count * dtype_bytes(elements.dtype);
  return barrier_wait(&at.group->barrier);
}

static bool local_barrier(Comm *self) {
  return barrier_wait(&((LocalComm *)self)->world->all);
}

static void local_abort(Comm *self) {
  local_world_abort(((LocalComm *)self)->world);
}

static int32_t local_members(const Comm *self, uint32_t comm) {
  return meeting(self, comm).group->count;
}

static const CommOps local_ops = {
    .all_reduce = local_all_reduce,
    .all_gather = local_all_gather,
    .reduce_scatter = local_reduce_scatter,
    .all_to_all = local_all_to_all,
    .barrier = local_barrier,
    .abort = local_abort,
    .members = local_members,
};

static bool open_groups(LocalWorld *world, uint32_t comm, int32_t spins) {
  MeshGroup shape = mesh_group(&world->mesh, world->axes_mask[comm], 0);
  if (shape.member_count > MEMBERS_MAX) return false;
  Group *groups = calloc((size_t)shape.group_count, sizeof *groups);
  if (!groups) return false;
  world->groups[comm] = (GroupList){groups, shape.group_count};
  for (int32_t i = 0; i < shape.group_count; i++) {
    groups[i].count = shape.member_count;
    barrier_open(&groups[i].barrier, shape.member_count, spins);
  }
  return true;
}

LocalWorld *local_world_new(const Plan *plan, const Mesh *mesh, int32_t threads_per_rank) {
  LocalWorld *world = calloc(1, sizeof *world);
  if (!world) return NULL;
  bool cores = (int64_t)mesh->rank_count * threads_per_rank <= sysconf(_SC_NPROCESSORS_ONLN);
  int32_t spins = cores ? SPINS_WITH_CORES : SPINS_WITHOUT_CORES;
  world->mesh = *mesh;
  barrier_open(&world->all, mesh->rank_count, spins);
  uint32_t count = plan->comms_count;
  world->axes_mask = calloc(count + 1, sizeof *world->axes_mask);
  world->groups = calloc(count + 1, sizeof *world->groups);
  world->ranks = calloc((size_t)mesh->rank_count, sizeof *world->ranks);
  bool opened = world->axes_mask && world->groups && world->ranks;
  for (uint32_t i = 0; opened && i < count; i++) {
    world->axes_mask[i] = plan->comms[i].axes_mask;
    world->comm_count = i + 1;
    opened = open_groups(world, i, spins);
  }
  if (opened) return world;
  local_world_free(world);
  return NULL;
}

void local_world_free(LocalWorld *world) {
  if (!world) return;
  for (uint32_t i = 0; world->groups && i < world->comm_count; i++) {
    for (int32_t group = 0; group < world->groups[i].count; group++)
      barrier_close(&world->groups[i].at[group].barrier);
    free(world->groups[i].at);
  }
  barrier_close(&world->all);
  free(world->axes_mask);
  free(world->groups);
  free(world->ranks);
  free(world);
}

Comm *local_comm(LocalWorld *world, int32_t rank, Threads *threads) {
  LocalComm *local = &world->ranks[rank];
  *local = (LocalComm){{&local_ops, 0}, world, rank, threads};
  return &local->base;
}

void local_world_abort(LocalWorld *world) {
  barrier_break(&world->all);
  for (uint32_t i = 0; i < world->comm_count; i++)
    for (int32_t group = 0; group < world->groups[i].count; group++)
      barrier_break(&world->groups[i].at[group].barrier);
}
