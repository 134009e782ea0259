/* cpu.c -- a device made of threads of this process.
 *
 * Every queue is a ring. The thread that issues runs the compute queue itself: it issues ahead as
 * far as rings have room, then runs the head, so that computing costs no handover. Every other
 * queue has a thread. A device with one queue has no ring: what is issued runs at once.
 *
 * A waiting thread spins for a moment, then sleeps; it hardly spins where the threads of all
 * devices of this process are more than the processors, because it would take time from the thread
 * it waits for. A sleeper increments `sleepers` before it checks its condition for the last time,
 * and whoever changes something reads `sleepers` afterwards: one of the two sees the other. A
 * sleeper records what it waits for and is woken only for that, so an idle queue costs nothing
 * while others work. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/math/philox.h"
#include "runtime/device/device.h"
#include "runtime/process/cgroup.h"

enum { RING = 256, SPINS = 200, SPINS_WITHOUT_CORES = 4, LOOK_AGAIN_NS = 100000 };

typedef enum EntryKind { ENTRY_WORK, ENTRY_WAIT, ENTRY_COPY } EntryKind;

typedef struct QueueEntry {
  EntryKind kind;
  const Queue *other; /* of a wait: the queue whose number is awaited */
  uint64_t number;
  void *to; /* of a copy */
  const void *from;
  uint64_t size_bytes;
  Work work;
} QueueEntry;

typedef struct Cpu Cpu;
typedef bool Until(const Queue *queue, uint64_t number);

/* A waiting thread and what it waits for. Guarded by the lock. */
typedef struct Sleeper {
  Until *until; /* NULL: it is awake */
  const Queue *queue;
  uint64_t number;
  pthread_cond_t wake;
} Sleeper;

struct Queue {
  Cpu *cpu;
  uint32_t lane;
  bool has_thread;
  pthread_t thread;
  Sleeper sleeper;         /* the queue's thread */
  QueueEntry *ring;        /* NULL: what is issued runs at once */
  _Atomic uint64_t issued; /* entries */
  _Atomic uint64_t done;
  _Atomic uint64_t passed; /* number of the last work that is done, plus 1 */
  uint64_t delays;
};

typedef struct CpuCapture {
  Queue *queue;
  QueueEntry entry;
} CpuCapture;

struct Graph {
  CpuCapture *at;
  uint32_t count, capacity;
  uint64_t number_first; /* of the first work */
  bool has_work;
  bool is_spoiled; /* something was refused: it cannot be replayed */
};

struct Cpu {
  Device base;
  DeviceSetup setup;
  Queue *of[PLAN_LANES_MAX];
  Queue queues[PLAN_LANES_MAX];
  Graph *capturing;
  _Atomic bool failed;
  _Atomic bool stop;
  _Atomic bool listens;
  _Atomic int32_t sleepers;
  pthread_mutex_t lock; /* for status, sleeping and waking */
  Sleeper issuer;
  Status status; /* of the first failure with its own reason */
  bool is_told;
};

/* ---- sleeping and waking */

static _Atomic int32_t open_threads; /* of all devices: the issuers, and the threads of queues */

static int32_t processors;
static pthread_once_t counted = PTHREAD_ONCE_INIT;

static void count_processors(void) {
  processors = processors_here();
}

static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void wake_one(Sleeper *sleeper) {
  if (sleeper->until != NULL && sleeper->until(sleeper->queue, sleeper->number))
    pthread_cond_signal(&sleeper->wake);
}

static void wake_sleepers(Cpu *cpu) {
  if (atomic_load(&cpu->sleepers) == 0) return;
  pthread_mutex_lock(&cpu->lock);
  wake_one(&cpu->issuer);
  for (uint32_t lane = 0; lane < cpu->setup.lane_count; lane++)
    wake_one(&cpu->queues[lane].sleeper);
  pthread_mutex_unlock(&cpu->lock);
}

static void wait_until(Cpu *cpu, Sleeper *self, Until *until, const Queue *queue, uint64_t number) {
  int32_t spins = atomic_load(&open_threads) <= processors ? SPINS : SPINS_WITHOUT_CORES;
  for (int32_t spin = 0; spin < spins; spin++) {
    if (until(queue, number)) return;
    pause_core();
  }
  pthread_mutex_lock(&cpu->lock);
  self->until = until, self->queue = queue, self->number = number;
  atomic_fetch_add(&cpu->sleepers, 1);
  while (!until(queue, number))
    pthread_cond_wait(&self->wake, &cpu->lock);
  atomic_fetch_sub(&cpu->sleepers, 1);
  self->until = NULL;
  pthread_mutex_unlock(&cpu->lock);
}

static bool has_passed(const Queue *queue, uint64_t number) {
  return atomic_load(&queue->passed) > number || atomic_load(&queue->cpu->failed);
}

static bool has_room(const Queue *queue, uint64_t number) {
  (void)number;
  return atomic_load(&queue->issued) - atomic_load(&queue->done) < RING;
}

static bool is_empty(const Queue *queue, uint64_t number) {
  (void)number;
  return atomic_load(&queue->issued) == atomic_load(&queue->done);
}

static bool has_work(const Queue *queue, uint64_t number) {
  return !is_empty(queue, number) || atomic_load(&queue->cpu->stop);
}

/* ---- running */

static void fail(Cpu *cpu, const Status *status) {
  pthread_mutex_lock(&cpu->lock);
  bool first = !atomic_load(&cpu->failed);
  if (first || cpu->status.code == STATUS_ECHO) cpu->status = *status;
  atomic_store(&cpu->failed, true);
  pthread_mutex_unlock(&cpu->lock);
  wake_sleepers(cpu);
}

/* The first caller that asks gets the reason. */
static bool tell(Cpu *cpu, Status *status) {
  pthread_mutex_lock(&cpu->lock);
  *status = cpu->status;
  if (cpu->is_told) status->code = STATUS_ECHO;
  cpu->is_told = cpu->is_told || status->code != STATUS_ECHO;
  pthread_mutex_unlock(&cpu->lock);
  return false;
}

/* Called by the issuing thread in await and finish, to ask whether the end can still be reached. */
static void wait_looking(Cpu *cpu, Until *until, const Queue *queue, uint64_t number) {
  Status why = {0};
  if (cpu->setup.look == NULL) {
    wait_until(cpu, &cpu->issuer, until, queue, number);
    return;
  }
  while (!until(queue, number) && !atomic_load(&cpu->failed)) {
    if (!cpu->setup.look(cpu->setup.look_context, &why)) fail(cpu, &why);
    nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
  }
}

/* Some queues are slower than others, chosen by the seed; otherwise a queue with little work would
 * always be ahead of one with much. */
static void delay(Queue *queue) {
  const DeviceSetup *setup = &queue->cpu->setup;
  if (setup->delay_most_ns <= 0) return;
  uint32_t whim[4], word[4];
  philox4(setup->delay_seed, PLAN_LANES_MAX + queue->lane, 0, whim);
  philox4(setup->delay_seed, queue->lane, queue->delays++, word);
  uint64_t most_ns = (uint64_t)setup->delay_most_ns >> whim[0] % 8;
  if (most_ns == 0) return;
  long ns = (long)(word[0] % most_ns);
  nanosleep(&(struct timespec){ns / 1000000000L, ns % 1000000000L}, NULL);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static bool run_work(Queue *queue, const QueueEntry *entry, Status *status) {
  const DeviceSetup *setup = &queue->cpu->setup;
  if (!atomic_load_explicit(&queue->cpu->listens, memory_order_relaxed))
    return entry->work.run(&entry->work, queue, status);
  const int64_t start_ns = now_ns();
  const bool ran = entry->work.run(&entry->work, queue, status);
  if (ran) setup->heard(setup->heard_context, entry->number, start_ns, now_ns());
  return ran;
}

static void run_entry(Queue *queue, const QueueEntry *entry) {
  Cpu *cpu = queue->cpu;
  if (entry->kind == ENTRY_WAIT) {
    Sleeper *self = queue->has_thread ? &queue->sleeper : &cpu->issuer;
    wait_until(cpu, self, has_passed, entry->other, entry->number);
    return;
  }
  Status status;
  status.code = 0, status.text[0] = '\0'; /* clearing all of it for every work would take time */
  bool ran = true;
  if (!atomic_load(&cpu->failed)) {
    delay(queue);
    if (entry->kind != ENTRY_COPY)
      ran = run_work(queue, entry, &status);
    else if (entry->size_bytes > 0) /* no samples have no address */
      memcpy(entry->to, entry->from, entry->size_bytes);
  }
  if (!ran) fail(cpu, &status);
  atomic_store(&queue->passed, entry->number + 1);
}

static void run_head(Queue *queue) {
  uint64_t done = atomic_load(&queue->done);
  run_entry(queue, &queue->ring[done % RING]);
  atomic_store(&queue->done, done + 1);
  wake_sleepers(queue->cpu);
}

static void *queue_main(void *argument) {
  Queue *queue = argument;
  for (;;) {
    wait_until(queue->cpu, &queue->sleeper, has_work, queue, 0);
    if (is_empty(queue, 0)) return NULL;
    run_head(queue);
  }
}

/* ---- issuing */

/* If the ring is full, the issuer runs work itself, or waits for the queue's thread. */
static void make_room(Queue *queue) {
  Queue *compute = queue->cpu->of[queue->cpu->setup.main_lane];
  while (!has_room(queue, 0)) {
    if (!compute->has_thread && !is_empty(compute, 0))
      run_head(compute);
    else
      wait_until(queue->cpu, &queue->cpu->issuer, has_room, queue, 0);
  }
}

static bool keep(Graph *graph, Queue *queue, const QueueEntry *entry, Status *status) {
  if (graph->count == graph->capacity) {
    uint32_t capacity = graph->capacity ? 2 * graph->capacity : 64;
    CpuCapture *at = realloc(graph->at, capacity * sizeof *at);
    if (at == NULL) return status_fail(status, STATUS_WORLD, "not enough memory to capture");
    graph->at = at, graph->capacity = capacity;
  }
  if (!graph->has_work) graph->number_first = entry->number;
  graph->has_work = true; /* a wait is kept after the work that it is for */
  graph->at[graph->count++] = (CpuCapture){queue, *entry};
  return true;
}

static bool push(Queue *queue, const QueueEntry *entry, Status *status) {
  Cpu *cpu = queue->cpu;
  if (cpu->capturing != NULL) return keep(cpu->capturing, queue, entry, status);
  if (queue->ring == NULL) {
    run_entry(queue, entry);
  } else {
    make_room(queue);
    uint64_t issued = atomic_load(&queue->issued);
    queue->ring[issued % RING] = *entry;
    atomic_store(&queue->issued, issued + 1);
    if (queue->has_thread) wake_sleepers(cpu);
  }
  return !atomic_load(&cpu->failed) || tell(cpu, status);
}

static bool spoil(Graph *graph, const char *why, Status *status) {
  graph->is_spoiled = true;
  return status_fail(status, STATUS_OURS, "%s", why);
}

static bool cpu_issue(Queue *queue, const Work *work, uint64_t number, Status *status) {
  return push(queue, &(QueueEntry){.kind = ENTRY_WORK, .number = number, .work = *work}, status);
}

static bool cpu_host(Queue *queue, const Work *work, uint64_t number, Status *status) {
  if (queue->cpu->capturing != NULL)
    return spoil(queue->cpu->capturing, "work of the host cannot be captured", status);
  return cpu_issue(queue, work, number, status);
}

static bool cpu_copy(Queue *queue, void *to, const void *from, uint64_t size_bytes, uint64_t number,
                     Status *status) {
  QueueEntry entry = {.kind = ENTRY_COPY, .number = number, .to = to, .from = from};
  entry.size_bytes = size_bytes;
  return push(queue, &entry, status);
}

/* Every number is a mark. */
static bool cpu_mark(Queue *queue, MarkFor whom, Status *status) {
  (void)queue, (void)whom, (void)status;
  return true;
}

static bool cpu_wait(Queue *queue, const Queue *other, uint64_t number, Status *status) {
  if (queue == other) return true; /* already in order */
  Graph *graph = queue->cpu->capturing;
  if (graph != NULL && (!graph->has_work || number < graph->number_first))
    return spoil(graph, "a wait for work that is not captured cannot be captured", status);
  return push(queue, &(QueueEntry){.kind = ENTRY_WAIT, .other = other, .number = number}, status);
}

static Queue *cpu_queue(Device *device, uint32_t lane) {
  return ((Cpu *)device)->of[lane];
}

static uint32_t cpu_lane(const Queue *queue) {
  return queue->lane;
}

static void *cpu_stream(const Queue *queue) {
  (void)queue;
  return NULL;
}

static Progress cpu_query(const Queue *queue, uint64_t number) {
  if (atomic_load(&queue->cpu->failed)) return PROGRESS_FAILED;
  return atomic_load(&queue->passed) > number ? PROGRESS_PASSED : PROGRESS_PENDING;
}

static bool cpu_finish(Device *device, Status *status) {
  Cpu *cpu = (Cpu *)device;
  Queue *compute = cpu->of[cpu->setup.main_lane];
  while (!compute->has_thread && compute->ring != NULL && !is_empty(compute, 0))
    run_head(compute);
  for (uint32_t lane = 0; lane < cpu->setup.lane_count; lane++)
    if (cpu->of[lane]->has_thread) wait_looking(cpu, is_empty, cpu->of[lane], 0);
  return !atomic_load(&cpu->failed) || tell(cpu, status);
}

static bool cpu_await(Queue *queue, uint64_t number, Status *status) {
  Cpu *cpu = queue->cpu;
  Queue *compute = cpu->of[cpu->setup.main_lane];
  while (!has_passed(queue, number))
    if (!compute->has_thread && compute->ring != NULL && !is_empty(compute, 0))
      run_head(compute);
    else
      wait_looking(cpu, has_passed, queue, number);
  return !atomic_load(&cpu->failed) || tell(cpu, status);
}

/* ---- windows */

static void *cpu_open_window(Device *device, void *at, uint64_t size_bytes, Access access,
                             Status *status) {
  (void)device, (void)access;
  if (size_bytes <= DEVICE_WINDOW_BYTES) return at;
  status_fail(status, STATUS_OURS, "a window of %llu bytes", (unsigned long long)size_bytes);
  return NULL;
}

static bool cpu_close_window(Device *device, Status *status) {
  (void)device, (void)status;
  return true;
}

/* ---- capture */

static bool cpu_capture(Device *device, Status *status) {
  Cpu *cpu = (Cpu *)device;
  if (cpu->capturing != NULL) return status_fail(status, STATUS_OURS, "a capture is under way");
  cpu->capturing = calloc(1, sizeof *cpu->capturing);
  return cpu->capturing != NULL ||
         status_fail(status, STATUS_WORLD, "not enough memory to capture");
}

static void cpu_graph_free(Graph *graph) {
  if (graph == NULL) return;
  free(graph->at);
  free(graph);
}

static Graph *cpu_captured(Device *device, Status *status) {
  Cpu *cpu = (Cpu *)device;
  Graph *graph = cpu->capturing;
  cpu->capturing = NULL;
  if (graph == NULL) status_fail(status, STATUS_OURS, "nothing is being captured");
  if (graph == NULL || !graph->is_spoiled) return graph;
  cpu_graph_free(graph);
  status_fail(status, STATUS_OURS, "the capture holds what cannot be captured");
  return NULL;
}

static bool cpu_replay(Device *device, const Graph *graph, uint64_t number_first, Status *status) {
  (void)device;
  for (uint32_t i = 0; i < graph->count; i++) {
    QueueEntry entry = graph->at[i].entry;
    entry.number += number_first - graph->number_first;
    if (!push(graph->at[i].queue, &entry, status)) return false;
  }
  return true;
}

/* ---- times: works of a processor are timed where they run */

static bool cpu_listen(Device *device, bool on, Status *status) {
  Cpu *cpu = (Cpu *)device;
  (void)status;
  atomic_store(&cpu->listens, on && cpu->setup.heard != NULL);
  return true;
}

static const char *cpu_coarse(const Device *device) {
  (void)device;
  return NULL;
}

/* ---- beginning and end */

static void cpu_abort(Device *device) {
  fail((Cpu *)device, &(Status){.code = STATUS_ECHO});
}

static void cpu_close(Device *device) {
  Cpu *cpu = (Cpu *)device;
  if (cpu == NULL) return;
  atomic_store(&cpu->failed, true);
  atomic_store(&cpu->stop, true);
  wake_sleepers(cpu);
  for (uint32_t lane = 0; lane < cpu->setup.lane_count; lane++)
    if (cpu->queues[lane].has_thread) {
      pthread_join(cpu->queues[lane].thread, NULL);
      atomic_fetch_sub(&open_threads, 1);
    }
  atomic_fetch_sub(&open_threads, 1);
  for (uint32_t lane = 0; lane < cpu->setup.lane_count;
       lane++) { /* queues read each other's state */
    free(cpu->queues[lane].ring);
    pthread_cond_destroy(&cpu->queues[lane].sleeper.wake);
  }
  cpu_graph_free(cpu->capturing);
  pthread_cond_destroy(&cpu->issuer.wake);
  pthread_mutex_destroy(&cpu->lock);
  free(cpu);
}

/* Signals are handled by the main thread. */
static int start_thread(Queue *queue) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&queue->thread, NULL, queue_main, queue);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  queue->has_thread = failure == 0;
  if (queue->has_thread) atomic_fetch_add(&open_threads, 1);
  return failure;
}

static bool open_queue(Cpu *cpu, uint32_t lane, bool with_ring, Status *status) {
  Queue *queue = &cpu->queues[lane];
  bool beside = lane != cpu->setup.main_lane;
  cpu->of[lane] = queue;
  if (!with_ring) return true;
  queue->ring = calloc(RING, sizeof *queue->ring);
  if (queue->ring == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for queues");
  if (!beside && !cpu->setup.issues_only) return true;
  int failure = start_thread(queue);
  return failure == 0 || status_fail(status, STATUS_WORLD, "cannot start a thread for a queue: %s",
                                     strerror(failure));
}

Device *device_cpu_open(const DeviceSetup *setup, Status *status) {
  static const DeviceOps ops = {
      .copies_are_work = true,
      .queue = cpu_queue,
      .lane = cpu_lane,
      .stream = cpu_stream,
      .issue = cpu_issue,
      .host = cpu_host,
      .copy = cpu_copy,
      .mark = cpu_mark,
      .wait = cpu_wait,
      .query = cpu_query,
      .finish = cpu_finish,
      .capture = cpu_capture,
      .captured = cpu_captured,
      .replay = cpu_replay,
      .graph_free = cpu_graph_free,
      .await = cpu_await,
      .open_window = cpu_open_window,
      .close_window = cpu_close_window,
      .listen = cpu_listen,
      .coarse = cpu_coarse,
      .abort = cpu_abort,
      .close = cpu_close,
  };
  Cpu *cpu = calloc(1, sizeof *cpu);
  if (cpu == NULL) {
    status_fail(status, STATUS_WORLD, "not enough memory for a device");
    return NULL;
  }
  pthread_once(&counted, count_processors);
  atomic_fetch_add(&open_threads, 1);
  cpu->base.ops = &ops;
  cpu->setup = *setup;
  pthread_mutex_init(&cpu->lock, NULL);
  pthread_cond_init(&cpu->issuer.wake, NULL);
  for (uint32_t lane = 0; lane < cpu->setup.lane_count; lane++) {
    cpu->queues[lane].cpu = cpu, cpu->queues[lane].lane = lane;
    pthread_cond_init(&cpu->queues[lane].sleeper.wake, NULL);
  }
  uint32_t beside = setup->queues_mask & ~(1u << setup->main_lane);
  bool opened = open_queue(cpu, setup->main_lane, beside != 0 || setup->issues_only, status);
  for (uint32_t lane = 0; lane < setup->lane_count && opened; lane++) {
    if (lane == setup->main_lane) continue;
    cpu->of[lane] = cpu->of[cpu->setup.main_lane];
    if (beside >> lane & 1u) opened = open_queue(cpu, lane, true, status);
  }
  if (opened) return &cpu->base;
  cpu_close(&cpu->base);
  return NULL;
}
