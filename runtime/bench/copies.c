/* copies.c -- copies between a device and host memory. Every device has a thread, and all begin at
 * one time; the slowest counts, because a step waits for all ranks. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/bench/bench.h"
#include "runtime/device/cuda/plugin.h"

enum { TO_DEVICE, TO_HOST, WAYS, COPIES = 16, DEVICES_MOST = 64 };
static const size_t gpu_bytes = (size_t)256 << 20, cpu_bytes = (size_t)64 << 20;

typedef struct CopyLine {
  const CudaPlugin *cuda; /* NULL: a processor */
  uint32_t number, ways;  /* ways: a bit for each direction that copies */
  pthread_barrier_t *start;
  pthread_t thread;
  double bytes_per_s; /* each way */
  Status status;
} CopyLine;

double bench_now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct Places {
  Arena arena[WAYS][2]; /* by way: from, to */
} Places;

static Tier tier_of(int32_t way, int32_t end) {
  return (way == TO_DEVICE) == (end == 0) ? TIER_HOST : TIER_DEVICE;
}

static const ArenaMap *map_of(const CopyLine *line) {
  return line->cuda != NULL ? &line->cuda->memory : NULL;
}

static bool open_places(const CopyLine *line, size_t bytes, Places *places, Status *status) {
  for (int32_t i = 0; i < 2 * WAYS; i++)
    if (!arena_open_for(&places->arena[i / 2][i % 2], tier_of(i / 2, i % 2), bytes, map_of(line),
                        status))
      return false;
  return true;
}

static void close_places(const CopyLine *line, Places *places) {
  for (int32_t i = 0; i < 2 * WAYS; i++)
    arena_close_for(&places->arena[i / 2][i % 2], tier_of(i / 2, i % 2), map_of(line));
}

/* Seconds of some copies on each of the line's ways. */
static bool copy_all(const CopyLine *line, Device *device, const Places *places, size_t bytes,
                     int32_t copies, uint64_t *number, double *seconds, Status *status) {
  const double from_s = bench_now_s();
  for (int32_t i = 0; i < copies * WAYS; i++) {
    const int32_t way = i % WAYS;
    if ((line->ways >> way & 1) == 0) continue;
    Queue *queue = device->ops->queue(device, 1 + (uint32_t)way);
    if (!device->ops->copy(queue, places->arena[way][1].base, places->arena[way][0].base, bytes,
                           (*number)++, status))
      return false;
  }
  if (!device->ops->finish(device, status)) return false;
  *seconds = bench_now_s() - from_s;
  return true;
}

static bool measure(CopyLine *line, Device *device, const Places *places, size_t bytes) {
  uint64_t number = 1;
  double seconds = 0;
  bool good = copy_all(line, device, places, bytes, 2, &number, &seconds, &line->status);
  pthread_barrier_wait(line->start);
  good = good && copy_all(line, device, places, bytes, COPIES, &number, &seconds, &line->status);
  line->bytes_per_s = good ? (double)bytes * COPIES / seconds : 0;
  return good;
}

static void *line_main(void *argument) {
  CopyLine *line = argument;
  const size_t bytes = line->cuda != NULL ? gpu_bytes : cpu_bytes;
  const DeviceSetup setup = {.lane_count = 1 + WAYS, .queues_mask = 7};
  Places places = {0};
  Device *device = NULL;
  bool good = (line->cuda == NULL || line->cuda->choose(line->number, &line->status)) &&
              open_places(line, bytes, &places, &line->status);
  if (good)
    device = (line->cuda != NULL ? line->cuda->open : device_cpu_open)(&setup, &line->status);
  if (device != NULL)
    (void)measure(line, device, &places, bytes);
  else
    pthread_barrier_wait(line->start); /* the others wait for it */
  if (device != NULL) device->ops->close(device);
  close_places(line, &places);
  return NULL;
}

/* The slowest rate of this many devices, each way. */
static bool run_lines(const CudaPlugin *cuda, uint32_t count, uint32_t ways, double *bytes_per_s,
                      Status *status) {
  static CopyLine lines[DEVICES_MOST];
  static pthread_barrier_t start; /* not of the stack: threads may outlive a failure to start all */
  uint32_t started = 0;
  if (pthread_barrier_init(&start, NULL, count) != 0)
    return status_fail(status, STATUS_WORLD, "not enough memory to measure");
  for (; started < count; started++) {
    lines[started] = (CopyLine){
        .cuda = cuda, .number = started, .ways = ways, .start = &start, .bytes_per_s = 0};
    if (pthread_create(&lines[started].thread, NULL, line_main, &lines[started]) != 0) break;
  }
  if (started < count) /* threads that already run would wait for the others without end */
    return status_fail(status, STATUS_WORLD, "cannot start a thread to measure");
  *bytes_per_s = 0;
  for (uint32_t i = 0; i < count; i++) {
    pthread_join(lines[i].thread, NULL);
    if (lines[i].bytes_per_s == 0 && status->code == 0) *status = lines[i].status;
    if (i == 0 || lines[i].bytes_per_s < *bytes_per_s) *bytes_per_s = lines[i].bytes_per_s;
  }
  pthread_barrier_destroy(&start);
  return status->code == 0;
}

/* GPUs that this process sees; 0: none, or no back end. */
static uint32_t count_gpus(const CudaPlugin **cuda) {
  Status none = {0};
  uint32_t count = 0;
  *cuda = cuda_plugin(&none);
  if (*cuda == NULL || !(*cuda)->count(&count, &none)) *cuda = NULL;
  return *cuda == NULL ? 0 : count;
}

bool bench_copies(FILE *out, Status *status) {
  const struct {
    const char *name;
    uint32_t ways;
    bool is_of_all;
  } runs[] = {{"to_device", 1u << TO_DEVICE, false},
              {"to_host", 1u << TO_HOST, false},
              {"both", 3, false},
              {"all", 3, true}};
  const CudaPlugin *cuda;
  const uint32_t gpus = count_gpus(&cuda), count = gpus < DEVICES_MOST ? gpus : DEVICES_MOST;
  double rate = 0, link = 0, alone = 0;
  GpuId id;
  if (cuda != NULL) {
    if (!cuda->look(0, &id, status)) return false;
    fprintf(out, "device %s\ndevices %u\n", id.name, count);
  }
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    if (runs[i].is_of_all && count <= 1) continue;
    if (!run_lines(cuda, runs[i].is_of_all ? count : 1, runs[i].ways, &rate, status)) return false;
    fprintf(out, "%s %.0f\n", runs[i].name, rate);
    if (runs[i].ways != 3) alone = alone > 0 && alone < rate ? alone : rate;
    link = rate;
  }
  fprintf(out, "host_link %.0f\n", link);
  if (cuda == NULL) fprintf(out, "host_copy %.0f\n", alone);
  if (!bench_stream(&rate, status)) return false;
  fprintf(out, "host_bandwidth %.0f\n", rate);
  if (!bench_update(&rate, status)) return false;
  fprintf(out, "host_update %.0f\n", rate);
  return true;
}
