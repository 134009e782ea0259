#include "tests/mutants/trial.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/schedule.h"
#include "tests/common/world.h"
#include "tests/unit/lt_stand_in.h"

enum { LAG_US = 150, LAG_ONE_IN = 24, QUEUE_DELAY_NS = 200000 };

/* ---- waiting now and then */

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static void lag(uint64_t random) {
  if (random % LAG_ONE_IN != 0) return;
  const struct timespec wait = {0, (long)(random >> 8) % (LAG_US * 1000)};
  (void)nanosleep(&wait, NULL);
}

/* Kernels have no context: the clock decides. */
static void lag_by_clock(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  lag(mix(1, (uint64_t)now.tv_nsec));
}

/* The kernels of the plan's target: of this processor, or those for GPUs by the shim. Set before
 * ranks begin. */
static const Kernel *target_kernels;

#define KERNEL(name, ...)                                                                          \
  static KernelStatus slow_##name(const KernelArgs *args, const char **why) {                      \
    lag_by_clock();                                                                                \
    return target_kernels[KERNEL_##name].run(args, why);                                           \
  }
#include "kernels/kernels.def"
#undef KERNEL

static KernelStatus prepare(const Kernel *kernel, const KernelUse *use, void **state,
                            const char **why) {
  const Kernel *own = &target_kernels[kernel->id];
  return own->prepare(own, use, state, why);
}

static atomic_int fused; /* pairs of records, of all ranks */

/* As the target's kernels do, whichever way they are run alone. */
static KernelStatus fuse(const Kernel *const *kernel, const KernelUse *use, int32_t count,
                         KernelFused *as_one, const char **why) {
  const Kernel *own[FUSED_MOST];
  for (int32_t i = 0; i < count; i++)
    own[i] = &target_kernels[kernel[i]->id];
  if (own[0]->fuse == NULL) return KERNEL_DONE;
  const KernelStatus ended = own[0]->fuse(own, use, count, as_one, why);
  fused += as_one->run != NULL;
  return ended;
}

/* A launch may run its records in any order: the last one first. */
static KernelStatus run_backwards(const Kernel *kernel, const KernelArgs *args, int32_t count,
                                  const char **why) {
  const Kernel *own = &target_kernels[kernel->id];
  KernelArgs *turned = calloc((size_t)count + 1, sizeof *turned);
  if (turned == NULL) abort();
  for (int32_t i = 0; i < count; i++)
    turned[i] = args[count - 1 - i];
  KernelStatus ended = KERNEL_DONE;
  if (own->run_batch != NULL) ended = own->run_batch(own, turned, count, why);
  for (int32_t i = 0; own->run_batch == NULL && i < count && ended == KERNEL_DONE; i++)
    ended = own->run(&turned[i], why);
  free(turned);
  return ended;
}

/* The caller of `prepare` frees what it made. */
#define KERNEL(name, ...)                                                                          \
  static void release_##name(void *state) {                                                        \
    if (target_kernels[KERNEL_##name].release != NULL)                                             \
      target_kernels[KERNEL_##name].release(state);                                                \
  }
#include "kernels/kernels.def"
#undef KERNEL

/* The target's kernels, each after a while. */
static const Kernel slow_kernels[KERNEL_COUNT] = {
#define KERNEL(name, ...)                                                                          \
  {KERNEL_##name, prepare, slow_##name, run_backwards, release_##name, fuse},
#include "kernels/kernels.def"
#undef KERNEL
};

/* A comm that waits before it does what the other one does. */
typedef struct SlowComm {
  Comm base;
  Comm *comm;
  uint64_t random;
} SlowComm;

static Comm *late(Comm *self) {
  SlowComm *slow = (SlowComm *)self;
  slow->random = mix(slow->random, 1);
  lag(slow->random);
  return slow->comm;
}

static bool slow_all_reduce(Comm *self, uint32_t comm, const void *x, void *y,
                            CommElements elements, ReduceOp reduce) {
  Comm *to = late(self);
  return to->ops->all_reduce(to, comm, x, y, elements, reduce);
}

static bool slow_all_gather(Comm *self, uint32_t comm, const void *x, void *y,
                            const CommPieces *pieces) {
  Comm *to = late(self);
  return to->ops->all_gather(to, comm, x, y, pieces);
}

static bool slow_reduce_scatter(Comm *self, uint32_t comm, void *x, void *y,
                                const CommPieces *pieces, ReduceOp reduce) {
  Comm *to = late(self);
  return to->ops->reduce_scatter(to, comm, x, y, pieces, reduce);
}

static bool slow_all_to_all(Comm *self, uint32_t comm, const void *x, void *y,
                            const CommTurn *turn) {
  Comm *to = late(self);
  return to->ops->all_to_all(to, comm, x, y, turn);
}

static bool slow_exchange(Comm *self, uint32_t comm, const CommPost *post, int32_t count) {
  Comm *to = late(self);
  return to->ops->exchange(to, comm, post, count);
}

static bool slow_barrier(Comm *self) {
  Comm *to = late(self);
  return to->ops->barrier(to);
}

static bool slow_gather_bytes(Comm *self, const void *from, void *to, size_t size_bytes) {
  Comm *other = late(self);
  return other->ops->gather_bytes(other, from, to, size_bytes);
}

static bool slow_broadcast_bytes(Comm *self, int32_t root, void *bytes, size_t size_bytes) {
  Comm *to = late(self);
  return to->ops->broadcast_bytes(to, root, bytes, size_bytes);
}

static bool slow_share_bytes(Comm *self, uint32_t axes, int32_t member, void *bytes,
                             size_t size_bytes) {
  Comm *to = late(self);
  return to->ops->share_bytes(to, axes, member, bytes, size_bytes);
}

static void slow_leave(Comm *self) {
  Comm *to = late(self);
  to->ops->leave(to);
}

static void slow_abort(Comm *self) {
  Comm *to = ((SlowComm *)self)->comm;
  to->ops->abort(to);
}

static bool slow_is_aborted(const Comm *self) {
  const Comm *to = ((const SlowComm *)self)->comm;
  return to->ops->is_aborted(to);
}

static int32_t slow_members(const Comm *self, uint32_t comm) {
  const Comm *to = ((const SlowComm *)self)->comm;
  return to->ops->members(to, comm);
}

static const CommOps slow_ops = {
    .all_reduce = slow_all_reduce,
    .all_gather = slow_all_gather,
    .reduce_scatter = slow_reduce_scatter,
    .all_to_all = slow_all_to_all,
    .exchange = slow_exchange,
    .barrier = slow_barrier,
    .gather_bytes = slow_gather_bytes,
    .broadcast_bytes = slow_broadcast_bytes,
    .share_bytes = slow_share_bytes,
    .leave = slow_leave,
    .abort = slow_abort,
    .is_aborted = slow_is_aborted,
    .members = slow_members,
};

/* ---- ranks */

/* The results of a rank. */
typedef struct Result {
  double loss, norm;
  uint64_t reports, state;
} Result;

typedef struct Trying {
  const Plan *good;
  TrialHow how;
  World world;
  Plan data; /* the plan, but every step is followed by a validation, if there are any */
  PlanSetting data_settings[JOB_ROW_COUNT];
  Result result[WORLD_RANKS_MAX];
} Trying;

typedef struct Member {
  const Trying *trying;
  WorldRank *rank;
  SlowComm comm, beside[PLAN_LANES_MAX];
} Member;

static SlowComm slow_comm(Comm *comm, uint64_t seed) {
  return (SlowComm){.base = {.ops = &slow_ops}, .comm = comm, .random = seed};
}

static CommLanes slow_beside(Member *m, uint64_t random) {
  CommLanes lanes = local_comm_beside(m->rank->world->local, m->rank->number);
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++) {
    if (lanes.at[lane] == NULL) continue;
    m->beside[lane] = slow_comm(lanes.at[lane], mix(random, 2 + lane));
    lanes.at[lane] = &m->beside[lane].base;
  }
  return lanes;
}

/* Bytes that no persistent buffer of the plan holds become NaN. A HOSTILE build does so itself. */
static void poison_tier(const Member *m, Tier tier) {
  const Plan *plan = m->rank->world->plan;
  const PlanClass *class = m->rank->replay.class;
  const Arena *arena = &m->rank->arenas->tier[tier];
  for (uint64_t at = 0; at < arena->size_bytes;) {
    uint64_t next = arena->size_bytes, held = at;
    for (uint32_t i = 0; i < class->buffers_count; i++) {
      const PlanBuffer *buffer = &plan->buffers[class->buffers_first + i];
      uint64_t end = buffer->offset + buffer->size_bytes;
      if (buffer->program != PLAN_NONE || buffer->tier != tier || end <= at) continue;
      if (buffer->offset <= at && end > held) held = end;
      if (buffer->offset > at && buffer->offset < next) next = buffer->offset;
    }
    if (held == at) memset(arena->base + at, 0xff, next - at);
    at = held == at ? next : held;
  }
}

static void poison(const Member *m) {
  for (Tier tier = 0; tier < TIER_FILE; tier++)
    poison_tier(m, tier);
}

static bool open_member(Member *m, Status *status) {
  WorldRank *rank = m->rank;
  if (!world_open(rank, status)) return false;
  for (Tier tier = 0; tier < Tier_COUNT; tier++)
    if (tier != TIER_FILE && rank->arenas->base[tier] != NULL)
      memset(rank->arenas->base[tier], 0xff, rank->arenas->tier[tier].size_bytes);
  uint64_t random = mix(mix(m->trying->how.seed, 7), (uint64_t)rank->number);
  bool on_queues = m->trying->how.on_queues;
  m->comm = slow_comm(rank->comm, random);
  return world_bind(rank,
                    (ReplaySetup){
                        .comm = &m->comm.base,
                        .comm_beside = slow_beside(m, random),
                        .kernels = {slow_kernels, slow_kernels},
                        .issues_only = on_queues,
                        .delay_most_ns = on_queues ? QUEUE_DELAY_NS : 0,
                        .delay_seed = random,
                    },
                    status);
}

static bool run_program(const Member *m, ProgramKind kind, int64_t step, int64_t padded_samples,
                        Control *out, Status *status) {
  if (!HOSTILE_RUNS_ALONE) poison(m);
  const Control in = {
      .lr = schedule_lr(m->rank->world->plan, step),
      .step = step,
      .seed = job_seed(m->rank->world->plan),
      .padded_samples = padded_samples,
  };
  return world_program(m->rank, kind, &in, out, status);
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *at, uint64_t size_bytes) {
  uint64_t word = 0;
  for (; size_bytes >= sizeof word; at += sizeof word, size_bytes -= sizeof word) {
    memcpy(&word, at, sizeof word);
    hash = mix(hash, word);
  }
  word = 0;
  memcpy(&word, at, size_bytes);
  return mix(hash, word);
}

/* Gradients are no state: around a rank's own pieces any bytes may be. */
static bool is_state(uint32_t kind) {
  return kind == BUFFER_PARAM || kind == BUFFER_MASTER || kind == BUFFER_MOMENT1 ||
         kind == BUFFER_MOMENT2;
}

static uint64_t hash_state(const Member *m) {
  const Plan *good = m->trying->good;
  const PlanClass *class = mesh_class(&m->rank->world->mesh, good, m->rank->number);
  uint64_t hash = 3;
  Status status;
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &good->tensors[class->tensors_first + i];
    for (uint32_t layer = 0; layer < tensor->layer_count && is_state(tensor->kind); layer++) {
      uint8_t *at =
          m->rank->arenas->base[tensor->tier] + tensor->offset + layer * tensor->layer_stride;
      const uint8_t *bytes = tensor->tier != TIER_FILE
                                 ? at
                                 : tier_file_window(at, tensor->size_bytes, ACCESS_READ, &status);
      if (bytes != NULL) hash = hash_bytes(hash, bytes, tensor->size_bytes);
      if (tensor->tier == TIER_FILE) (void)tier_file_window_close(at, &status);
    }
  }
  return hash;
}

/* The first of the ranks that have the same elements of a tensor as this one. */
static int32_t writer_of(const WorldRank *rank, const PlanClass *class, const PlanTensor *tensor) {
  const Mesh *mesh = &rank->world->mesh;
  uint32_t axes = mesh_same_axes(rank->world->plan, class, tensor);
  const MeshGroup mine = mesh_group(mesh, axes, rank->number);
  for (int32_t writer = 0; writer < mesh->rank_count; writer++) {
    const MeshGroup group = mesh_group(mesh, axes, writer);
    if (group.group == mine.group && group.member == 0) return writer;
  }
  return rank->number;
}

/* State as a checkpoint would have it: each tensor from the first rank that has the same elements.
 */
static void copy_state(const Member *m) {
  const World *world = m->rank->world;
  const Plan *plan = world->plan;
  const PlanClass *class = m->rank->replay.class;
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    uint8_t *to = m->rank->arenas->base[tensor->tier];
    int32_t writer = writer_of(m->rank, class, tensor);
    const uint8_t *from = world->arenas[writer].base[tensor->tier];
    if (writer == m->rank->number || !is_state(tensor->kind) || tensor->tier == TIER_FILE)
      continue; /* no strategy with files has replicas */
    for (uint32_t layer = 0; layer < tensor->layer_count; layer++) {
      uint64_t at = tensor->offset + layer * tensor->layer_stride;
      memcpy(to + at, from + at, tensor->size_bytes);
    }
  }
}

/* Resumes as from a checkpoint. */
static bool resume(const Member *m, Status *status) {
  const Arena *arena = &m->rank->arenas->tier[TIER_DEVICE];
  hostile_allow(&m->rank->replay.hostile, arena->base,
                arena->size_bytes); /* others read there, too */
  if (!world_meet(m->rank, status)) return false;
  copy_state(m);
  if (!world_meet(m->rank, status)) return false;
  hostile_forbid(&m->rank->replay.hostile, arena->base, arena->size_bytes);
  return true;
}

/* The plan may have fewer losses than these: the others are 0. */
static uint64_t hash_losses(uint64_t hash, const Control *left) {
  LossSums sums = {0};
  loss_sums_add(&sums, left, LOSSES_MAX);
  return hash_bytes(hash, (const uint8_t *)&sums, sizeof sums);
}

static bool validate(Member *m, int64_t step, Result *result, Status *status) {
  const World *world = m->rank->world;
  int32_t replicas = mesh_replicas(&world->mesh),
          replica = mesh_replica(&world->mesh, m->rank->number);
  for (int64_t pass = 0; pass < world_validations(m->rank); pass++) {
    int64_t padded = samples_padded(&world->valid, replicas, replica, pass);
    Control left;
    if (!run_program(m, PROGRAM_EVAL_STEP, step, padded, &left, status)) return false;
    result->reports = hash_losses(result->reports, &left);
  }
  return true;
}

static bool run_steps(Member *m, Result *result, Status *status) {
  Control left;
  if (!run_program(m, PROGRAM_INIT, 0, 0, &left, status)) return false;
  for (int64_t step = 1; step <= TRIAL_STEPS; step++) {
    if (!run_program(m, PROGRAM_TRAIN_STEP, step, 0, &left, status)) return false;
    result->loss = left.loss / left.count;
    result->norm = left.grad_norm;
    const double said[2] = {result->loss, result->norm};
    result->reports = hash_losses(result->reports, &left);
    result->reports = hash_bytes(result->reports, (const uint8_t *)said, sizeof said);
    if (!validate(m, step, result, status)) return false;
    if (step < TRIAL_STEPS && !resume(m, status)) return false;
  }
  if (!world_meet(m->rank, status)) return false;
  world_open_memory(m->rank, true);
  result->state = hash_state(m);
  return true;
}

static bool run_rank(void *context, WorldRank *rank, Status *status) {
  Trying *trying = context;
  Member m = {.trying = trying, .rank = rank};
  bool done = open_member(&m, status) && world_meet(rank, status) &&
              run_steps(&m, &trying->result[rank->number], status);
  world_leave(rank); /* before its communicators go out of scope */
  return done;
}

/* ---- the child */

static Trial run_here(const Plan *plan, const Plan *good, TrialHow how) {
  Trying *trying = calloc(1, sizeof *trying);
  if (!trying) abort();
  trying->good = good, trying->how = how;
  target_kernels = job_target(plan) == TARGET_CPU ? kernels_of(KERNEL_FAST) : lt_stand_in_kernels();
  trying->data = *plan, trying->data.settings = trying->data_settings;
  trying->data.settings_count = JOB_ROW_COUNT;
  memcpy(trying->data_settings, plan->settings, sizeof trying->data_settings);
  trying->data_settings[JOB_validate_every] = (PlanSetting){.count = 1, .kind = SETTING_COUNT};
  World *world = &trying->world;
  *world = (World){.plan = plan, .data = &trying->data, .steps = TRIAL_STEPS, .body = run_rank};
  world->context = trying;
  Status status = {0};
  Trial trial = {.end = world_run(world, &status) ? TRIAL_DONE : TRIAL_REFUSED};
  if (trial.end == TRIAL_REFUSED) printf("    %s\n", status.text);
  trial.loss = trying->result[0].loss;
  trial.norm = trying->result[0].norm;
  trial.fused = fused;
  for (int32_t rank = 0; rank < world->mesh.rank_count; rank++) {
    trial.reports = mix(trial.reports, trying->result[rank].reports);
    trial.state = mix(trial.state, trying->result[rank].state);
  }
  return trial; /* the process ends here: nothing is freed */
}

/* Ends the child, with all its threads, wherever they wait. Time is counted in rounds of waiting
 * and working by a thread of its own, so that it goes slower where the child gets less of a
 * processor.
 */
static void *watch(void *limit_s) {
  enum { ROUND_MS = 20, WORK_NS = 500000, ROUNDS_OF_S = 1000 / ROUND_MS };
  const struct timespec wait = {0, ROUND_MS * 1000000};
  struct timespec from, now;
  for (unsigned left = *(const unsigned *)limit_s * ROUNDS_OF_S; left > 0; left--) {
    (void)nanosleep(&wait, NULL);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do
      (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < WORK_NS);
  }
  (void)kill(getpid(), SIGALRM);
  return NULL;
}

Trial trial_run(const Plan *plan, const Plan *good, TrialHow how) {
  int ends[2];
  fflush(stdout);
  if (pipe(ends) != 0) abort();
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, watch, &how.limit_s) != 0) abort();
    Trial trial = run_here(plan, good, how);
    fflush(stdout);
    _exit(write(ends[1], &trial, sizeof trial) == (ssize_t)sizeof trial ? 0 : 1);
  }
  close(ends[1]);
  Trial trial = {.end = TRIAL_CRASHED};
  Trial read_back;
  if (read(ends[0], &read_back, sizeof read_back) == (ssize_t)sizeof read_back) trial = read_back;
  close(ends[0]);
  int end = 0;
  if (waitpid(child, &end, 0) != child) abort();
  if (WIFSIGNALED(end)) trial.end = WTERMSIG(end) == SIGALRM ? TRIAL_HUNG : TRIAL_CRASHED;
  return trial;
}

bool trial_equal(const Trial *a, const Trial *b) {
  return a->end == TRIAL_DONE && b->end == TRIAL_DONE && a->reports == b->reports &&
         a->state == b->state;
}

const char *trial_difference(const Trial *trial, const Trial *original) {
  switch (trial->end) {
  case TRIAL_REFUSED: return "is refused by the runtime";
  case TRIAL_HUNG: return "hangs";
  case TRIAL_CRASHED: return "crashes";
  case TRIAL_DONE: break;
  }
  if (isnan(trial->loss) || isnan(trial->norm)) return "reads what nothing has written";
  return trial->reports != original->reports ? "reports other numbers" : "ends in another state";
}
