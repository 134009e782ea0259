#include "tests/parity/cuda_host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/choices.h"
#include "kernels/cuda/variants.h"
#include "runtime/replay/hostile.h"
#include "tests/unit/cudnn_stand_in.h"
#include "tests/unit/nccl_stand_in.h"

enum { PAGE_BYTES = 2 << 20 };

static _Thread_local size_t arena_bytes; /* of the rank whose thread this is */
static _Thread_local uint32_t chosen;

static void listens(void) {}

static bool choose(uint32_t device, Status *status) {
  GpuId gpu;
  chosen = device;
  return cuda_host_look(device, &gpu, status);
}

/* All that the arena leaves is free, but for what CUDA and libraries would have taken. */
static bool describe(GpuFacts *facts, Status *status) {
  *facts = (GpuFacts){.memory_bytes = 80000000000u};
  if (!cuda_host_look(chosen, &facts->id, status)) return false;
  facts->free_bytes = facts->memory_bytes - arena_bytes - CUDA_HOST_OUTSIDE_BYTES;
  return true;
}

static bool map(size_t size_bytes, void **at, Status *status) {
  size_t whole = (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  arena_bytes = size_bytes;
  *at = aligned_alloc(PAGE_BYTES, whole);
  if (*at == NULL) return status_fail(status, STATUS_WORLD, "no memory");
  memset(*at, 0, whole);
  return true;
}

static void unmap(void *at) {
  free(at);
}

/* No plan may read what it has not written there. */
static bool pin(void *at, size_t size_bytes, Status *status) {
  (void)status;
  memset(at, 0xff, size_bytes);
  return true;
}

static void unpin(void *at, size_t size_bytes) {
  (void)at, (void)size_bytes;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const DeviceOps *uncounted;
static DeviceOps counted;
static atomic_int replays, refusals;
static int64_t delay_ns;

void cuda_host_refuse(int captures) {
  atomic_store(&refusals, captures);
}

int cuda_host_replays(void) {
  return atomic_exchange(&replays, 0);
}

static bool replay_counted(Device *device, const Graph *graph, uint64_t number_first,
                           Status *status) {
  atomic_fetch_add(&replays, 1);
  return uncounted->replay(device, graph, number_first, status);
}

/* A rank's graphs hold calls of its communicators, if it has any. */
static Graph *captured_counted(Device *device, Status *status) {
  Graph *graph = uncounted->captured(device, status);
  int left = atomic_load(&refusals);
  if (graph != NULL && left > 0 && atomic_compare_exchange_strong(&refusals, &left, left - 1)) {
    uncounted->graph_free(graph);
    (void)status_fail(status, STATUS_WORLD, "CUDA cannot end the capture: an error");
    return NULL;
  }
  if (graph != NULL) nccl_stand_in_graphs(1);
  return graph;
}

static void graph_free_counted(Graph *graph) {
  if (graph != NULL) nccl_stand_in_graphs(-1);
  uncounted->graph_free(graph);
}

/* Issued work runs beside the issuer, some of it late; in a hostile build, which opens to a
 * record what it may touch while it is issued, at once. */
static Device *open_streams(const DeviceSetup *setup, Status *status) {
  DeviceSetup with = *setup;
  with.issues_only = !HOSTILE_RUNS_ALONE;
  with.delay_most_ns = delay_ns;
  Device *device = device_cpu_open(&with, status);
  if (device == NULL) return NULL;
  pthread_mutex_lock(&lock);
  if (uncounted == NULL) counted = *device->ops, uncounted = device->ops;
  counted.replay = replay_counted;
  counted.captured = captured_counted, counted.graph_free = graph_free_counted;
  pthread_mutex_unlock(&lock);
  device->ops = &counted;
  return device;
}

static const Kernel *kernels(KernelVariant variant, Status *status) {
  (void)status;
  return variant == KERNEL_FAST ? cudnn_stand_in_kernels() : kernels_cuda();
}

static bool read_choices(const char *path, bool must_hold, Status *status) {
  char why[CHOICES_WHY_BYTES];
  choices_hold(must_hold);
  return choices_read(path, why) || status_fail(status, STATUS_USER, "%s", why);
}

static bool write_choices(const char *path, Status *status) {
  char why[CHOICES_WHY_BYTES];
  return choices_write(path, why) || status_fail(status, STATUS_WORLD, "%s", why);
}

static void lend(void *memory, uint64_t size_bytes) {
  static _Thread_local struct {
    void *memory;
    size_t size_bytes;
  } lent;
  if (memory == NULL && lent.memory != NULL) memset(lent.memory, 0, lent.size_bytes);
  lent.memory = memory, lent.size_bytes = size_bytes;
  products_lend(&cudnn_stand_in_clock, memory, size_bytes);
}

static bool take_choices(const LtChoice *choices, int64_t count, Status *status) {
  for (int64_t i = 0; i < count; i++)
    if (!choices_add(&choices[i])) return status_fail(status, STATUS_WORLD, "no memory");
  return (products_settle() && attentions_settle()) ||
         status_fail(status, STATUS_WORLD, "a choice that does not hold");
}

const CudaPlugin *cuda_host_plugin(int64_t delay_most_ns) {
  static CudaPlugin plugin = {.version = CUDA_PLUGIN_VERSION,
                              .count = cuda_host_count,
                              .look = cuda_host_look,
                              .listens = listens,
                              .choose = choose,
                              .describe = describe,
                              .memory = {map, unmap, pin, unpin},
                              .open = open_streams,
                              .kernels = kernels,
                              .read_choices = read_choices,
                              .write_choices = write_choices,
                              .count_choices = choices_count,
                              .lend = lend,
                              .choice_at = choices_at,
                              .take_choices = take_choices,
                              .tell_attention = attentions_tell,
                              .list_attention = attentions_list};
  plugin.nccl = nccl_stand_in();
  delay_ns = delay_most_ns;
  return &plugin;
}
