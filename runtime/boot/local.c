/* local.c -- one thread for each rank; the first failure is the cause, later ones are its echoes.
 */
#include "runtime/boot/local.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/process/plural.h"
#include "runtime/watch/failure.h"

typedef struct ThreadLaunch {
  BootRank *body;
  BootAbort *abort_all;
  void *context;
  pthread_mutex_t lock;
  bool failed;
  int32_t cause; /* the rank that failed first */
  Status status;
} ThreadLaunch;

typedef struct RankThread {
  ThreadLaunch *launch;
  pthread_t thread;
  int32_t rank;
} RankThread;

static void run_rank(ThreadLaunch *launch, int32_t rank) {
  Status status = {0};
  bool done = launch->body(launch->context, rank, &status);
  pthread_mutex_lock(&launch->lock);
  if (done && !launch->failed) launch->status = status;
  if (done) {
    pthread_mutex_unlock(&launch->lock);
    return;
  }
  bool first = !launch->failed || launch->status.code == STATUS_ECHO;
  if (first) launch->status = status;
  if (first) launch->cause = rank;
  launch->failed = true;
  pthread_mutex_unlock(&launch->lock);
  if (first && status.code != STATUS_ECHO) launch->abort_all(launch->context);
}

static void *thread_main(void *argument) {
  const RankThread *self = argument;
  run_rank(self->launch, self->rank);
  return NULL;
}

/* Only the main thread handles signals: threads inherit their creator's mask. */
static int start_thread(RankThread *rank) {
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS); /* raised in the thread that reads a truncated file */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&rank->thread, NULL, thread_main, rank);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failure;
}

/* True if all ended normally; otherwise `cause` is the rank that failed first. */
static bool run_all(ThreadLaunch *launch, int32_t rank_count, Status *status) {
  RankThread *ranks = calloc((size_t)rank_count, sizeof *ranks);
  if (!ranks)
    return status_fail(status, STATUS_WORLD, "not enough memory for %d rank%s", rank_count,
                       plural(rank_count));
  pthread_mutex_init(&launch->lock, NULL);
  int32_t started = 1;
  for (; started < rank_count; started++) {
    ranks[started] = (RankThread){.launch = launch, .rank = started};
    int failure = start_thread(&ranks[started]);
    if (failure == 0) continue;
    pthread_mutex_lock(&launch->lock);
    launch->failed = true;
    (void)status_fail(&launch->status, STATUS_WORLD, "cannot start rank %d: %s", started,
                      strerror(failure));
    pthread_mutex_unlock(&launch->lock);
    launch->abort_all(launch->context);
    break;
  }
  if (started == rank_count) run_rank(launch, 0);
  for (int32_t i = 1; i < started; i++)
    pthread_join(ranks[i].thread, NULL);
  pthread_mutex_destroy(&launch->lock);
  free(ranks);
  *status = launch->status;
  return !launch->failed;
}

bool boot_local(int32_t rank_count, BootRank *body, BootAbort *abort_all, void *context,
                Status *status) {
  ThreadLaunch launch = {.body = body, .abort_all = abort_all, .context = context};
  return run_all(&launch, rank_count, status);
}

typedef struct LocalBoot {
  Boot base;
  LocalWorld *world;
  const Plan *plan;
  const Mesh *mesh;
  Flight *flight; /* of every rank */
} LocalBoot;

static LocalWorld *world_of(Boot *self) {
  return ((LocalBoot *)self)->world;
}

static Comm *boot_comm(Boot *self, int32_t rank, Threads *threads) {
  return local_comm(world_of(self), rank, threads);
}

static CommLanes boot_comm_beside(Boot *self, int32_t rank) {
  return local_comm_beside(world_of(self), rank);
}

static Flight *boot_flight(Boot *self, int32_t rank) {
  return &((LocalBoot *)self)->flight[rank];
}

/* The body and the abort have different contexts. */
typedef struct BootBody {
  BootRank *run;
  void *context;
  LocalWorld *world;
} BootBody;

static bool run_body(void *context, int32_t rank, Status *status) {
  const BootBody *body = context;
  return body->run(body->context, rank, status);
}

static void abort_body(void *context) {
  local_world_abort(((const BootBody *)context)->world);
}

static bool boot_run(Boot *self, BootRank *body, void *context, Status *status) {
  const LocalBoot *boot = (const LocalBoot *)self;
  BootBody all = {body, context, world_of(self)};
  ThreadLaunch launch = {.body = run_body, .abort_all = abort_body, .context = &all};
  bool done = run_all(&launch, self->rank_count, status);
  if (!done) failure_of_threads(boot->plan, boot->mesh, boot->flight, launch.cause, status);
  return done;
}

/* All ranks are in this process, and none was started. */
static void boot_abandon(Boot *self, Status *status) {
  const LocalBoot *boot = (const LocalBoot *)self;
  failure_of_threads(boot->plan, boot->mesh, boot->flight, 0, status);
}

static void boot_close(Boot *self) {
  local_world_free(world_of(self));
  free(((LocalBoot *)self)->flight);
  free(self);
}

static const BootOps local_ops = {
    .comm = boot_comm,
    .comm_beside = boot_comm_beside,
    .flight = boot_flight,
    .run = boot_run,
    .abandon = boot_abandon,
    .close = boot_close,
};

Boot *boot_local_new(const Plan *plan, const Mesh *mesh, int32_t threads_per_rank,
                     CommDelay delay) {
  LocalBoot *boot = calloc(1, sizeof *boot);
  LocalWorld *world = boot ? local_world_new(plan, mesh, threads_per_rank) : NULL;
  Flight *flight = world ? calloc((size_t)mesh->rank_count, sizeof *flight) : NULL;
  if (!flight) {
    if (world) local_world_free(world);
    free(boot);
    return NULL;
  }
  local_world_delay(world, delay);
  *boot =
      (LocalBoot){{.ops = &local_ops, .rank_count = mesh->rank_count}, world, plan, mesh, flight};
  boot->base.allowed = cores_allowed();
  boot->base.here = (Neighbours){.before = 0, .count = mesh->rank_count};
  return &boot->base;
}
