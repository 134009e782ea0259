/* pmix.c -- one rank in this process; the others are reached through MPI. */
#include "runtime/boot/pmix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/boot/agree.h"
#include "runtime/comm/mpi.h"
#include "runtime/plan/plan_job.h"
#include "runtime/pmix/client.h"
#include "runtime/process/cgroup.h"
#include "runtime/process/deadline.h"
#include "runtime/process/plural.h"
#include "runtime/watch/watch.h"

typedef struct PmixBoot {
  Boot base;
  Client client;
  BootFacts *facts; /* of every rank */
  int32_t *node;    /* of every rank */
  const char **node_names;
  Watch *watch;
  _Atomic(MpiWorld *) world;
  char who[CLIENT_NODE_BYTES + 32];
  bool has_failed;
} PmixBoot;

bool boot_pmix_is_launched(void) {
  return client_is_launched();
}

static Comm *boot_comm(Boot *self, int32_t rank, Threads *threads) {
  (void)rank;
  return mpi_comm(((PmixBoot *)self)->world, threads);
}

static CommLanes boot_comm_beside(Boot *self, int32_t rank) {
  (void)rank;
  return mpi_comm_beside(((PmixBoot *)self)->world);
}

static Flight *boot_flight(Boot *self, int32_t rank) {
  (void)rank;
  return watch_flight(((PmixBoot *)self)->watch);
}

static void boot_abandon(Boot *self, Status *status) {
  PmixBoot *boot = (PmixBoot *)self;
  boot->has_failed = true;
  if (boot->watch) watch_fail(boot->watch, status);
}

/* Called by the watchdog: what this rank waits for will not arrive. */
static void stop_waiting(void *context) {
  MpiWorld *world = atomic_load(&((PmixBoot *)context)->world);
  if (world) mpi_world_abort(world);
}

static bool boot_run(Boot *self, BootRank *body, void *context, Status *status) {
  bool done = body(context, self->rank_first, status);
  if (!done) boot_abandon(self, status);
  return done;
}

/* After a failure the process does not wait for peers: it ends, and its launcher sees how. */
static void boot_close(Boot *self) {
  PmixBoot *boot = (PmixBoot *)self;
  if (boot->has_failed && boot->world) mpi_world_abort(boot->world);
  if (boot->watch) watch_close(boot->watch);
  Deadline *deadline =
      deadline_begin(boot->who, "MPI_Finalize", DEADLINE_START_S, deadline_of_others);
  if (boot->world) mpi_world_close(boot->world);
  deadline_end(deadline);
  if (!boot->has_failed) client_close(&boot->client);
  free(boot->facts);
  free(boot->node);
  free(boot->node_names);
  free(boot);
}

static const BootOps pmix_ops = {
    .comm = boot_comm,
    .comm_beside = boot_comm_beside,
    .flight = boot_flight,
    .run = boot_run,
    .abandon = boot_abandon,
    .close = boot_close,
};

static bool check_size(const Client *client, const Mesh *mesh, Status *status) {
  if (client->rank_count == mesh->rank_count) return true;
  return status_fail(status, STATUS_USER,
                     "the plan is for %d rank%s and the launcher has started %d process%s: start "
                     "%d (srun -n %d), or give --threads to run all ranks in one process",
                     mesh->rank_count, plural(mesh->rank_count), client->rank_count,
                     plural_es(client->rank_count), mesh->rank_count, mesh->rank_count);
}

static bool show_facts(PmixBoot *boot, const BootPmixSetup *setup, Status *status) {
  int32_t ranks = boot->client.rank_count;
  BootFacts own = facts_here(setup->plan, boot->client.rank, setup->reference_kernels);
  memcpy(own.node, boot->client.node, sizeof own.node);
  boot->facts = calloc((size_t)ranks, sizeof *boot->facts);
  boot->node = calloc((size_t)ranks, sizeof *boot->node);
  boot->node_names = calloc((size_t)ranks, sizeof *boot->node_names);
  if (!boot->facts || !boot->node || !boot->node_names)
    return status_fail(status, STATUS_WORLD, "not enough memory for %d rank%s", ranks,
                       plural(ranks));
  return client_exchange(&boot->client, "lockstep.facts", &own, boot->facts, sizeof own, status);
}

/* Rank 0 alone reports an error that all ranks see. */
static bool leave_to_first(const Client *client, bool good, Status *status) {
  if (!good && client->rank != 0)
    (void)status_fail(status, STATUS_ECHO, "ended because rank 0 did");
  return good;
}

static bool check_job(const PmixBoot *boot, const BootPmixSetup *setup, Status *status) {
  int32_t ranks = boot->client.rank_count;
  bool good = agree_versions(boot->facts, ranks, status) &&
              (setup->any_place || (agree_places(setup->plan, boot->facts, ranks, status) &&
                                    agree_seats(setup->plan, boot->facts, ranks, status)));
  return leave_to_first(&boot->client, good, status);
}

/* True if every rank of this node has its own cores to spin on. */
static bool has_cores(const PmixBoot *boot, int32_t threads) {
  int32_t processors = cgroup_processors("", boot->base.allowed.count);
  return (int64_t)boot->base.here.count * threads <= processors;
}

static void tell_places(PmixBoot *boot, int32_t nodes) {
  (void)snprintf(boot->base.words, sizeof boot->base.words, "%d process%s on %d node%s, %s%s",
                 boot->client.rank_count, plural_es(boot->client.rank_count), nodes, plural(nodes),
                 boot->facts[0].node, nodes > 1 ? " and others" : "");
}

static bool open_watch(PmixBoot *boot, const BootPmixSetup *setup, Status *status) {
  for (int32_t rank = 0; rank < boot->client.rank_count; rank++)
    boot->node_names[rank] = boot->facts[rank].node;
  WatchSetup watch = {.plan = setup->plan,
                      .mesh = setup->mesh,
                      .node = boot->node,
                      .node_names = boot->node_names,
                      .end = stop_waiting,
                      .context = boot};
  boot->watch = watch_open(&watch, &boot->client, status);
  return boot->watch != NULL;
}

static bool join(PmixBoot *boot, const BootPmixSetup *setup, Status *status) {
  Client *client = &boot->client;
  int64_t planned = job_threads(setup->plan);
  int32_t threads = planned < 1 ? 1 : (int32_t)planned;
  if (!client_open(client, status)) return false;
  (void)snprintf(boot->who, sizeof boot->who, "rank %d on %s", client->rank, client->node);
  if (!leave_to_first(client, check_size(client, setup->mesh, status), status) ||
      !show_facts(boot, setup, status))
    return false;
  int32_t nodes = agree_nodes(boot->facts, client->rank_count, boot->node);
  if (!check_job(boot, setup, status) || !open_watch(boot, setup, status)) return false;
  tell_places(boot, nodes);
  boot->base.node = boot->node;
  boot->base.rank_first = client->rank;
  boot->base.rank_count = 1;
  boot->base.allowed = cores_allowed();
  boot->base.here = agree_neighbours(boot->facts, boot->node, client->rank_count, client->rank);
  Deadline *deadline = deadline_begin(boot->who, "MPI_Init", DEADLINE_START_S, deadline_of_others);
  boot->world = mpi_world_open(setup->plan, setup->mesh, client->rank, boot->node,
                               has_cores(boot, threads), status);
  deadline_end(deadline);
  return boot->world != NULL;
}

Boot *boot_pmix_new(const BootPmixSetup *setup, Status *status) {
  PmixBoot *boot = calloc(1, sizeof *boot);
  if (!boot) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory for a rank");
    return NULL;
  }
  boot->base.ops = &pmix_ops;
  if (join(boot, setup, status)) return &boot->base;
  boot_abandon(&boot->base, status);
  boot_close(&boot->base);
  return NULL;
}
