/* full.c -- checks of a node that need its memory, disk and cores to be used. */
#include "runtime/preflight/full.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/product.h"
#include "runtime/checkpoint/checksum.h"
#include "runtime/data/samples.h"
#include "runtime/plan/plan_job.h"
#include "runtime/preflight/gpus.h"
#include "runtime/preflight/scratch.h"
#include "runtime/process/deadline.h"

enum { THREADS_MOST = 64, PART_S = 20 };
static const char slow_part[] = "the node is stuck there";

static void say_fault(Full *full, const char *text) {
  if (full->fault[0]) return; /* the first fault is enough */
  (void)snprintf(full->fault, sizeof full->fault, "%.199s", text);
  for (char *p = full->fault; *p; p++)
    if (*p == '\n') *p = ' ';
}

/* ---- memory: each thread writes its whole part before it reads the part back */

static const double MEMORY_S = 4;

typedef struct FullPart {
  uint64_t *word;
  size_t count, written;
  int64_t wrong;
} FullPart;

static uint64_t pattern(const uint64_t *at) {
  return (uint64_t)(uintptr_t)at * 0x9e3779b97f4a7c15u;
}

static void *use_part(void *argument) {
  enum { CHUNK = 1 << 18 };
  FullPart *part = argument;
  double until_s = scratch_now_s() + MEMORY_S;
  while (part->written < part->count && scratch_now_s() < until_s)
    for (size_t i = 0; i < CHUNK && part->written < part->count; i++, part->written++)
      part->word[part->written] = pattern(&part->word[part->written]);
  for (size_t i = 0; i < part->written; i++)
    part->wrong += part->word[i] != pattern(&part->word[i]);
  return NULL;
}

/* As much as the ranks of a node take, if that leaves enough free. */
static void use_memory(const Plan *plan, const Preflight *facts, Full *full) {
  uint64_t bytes = preflight_node_bytes(plan);
  if (facts->memory > 0 && bytes > (uint64_t)facts->memory / 4 * 3)
    bytes = (uint64_t)facts->memory / 4 * 3;
  int32_t threads = facts->cores < THREADS_MOST ? (int32_t)facts->cores : THREADS_MOST;
  size_t words = bytes / sizeof(uint64_t), each = words / (size_t)threads + 1;
  void *memory = mmap(NULL, words * sizeof(uint64_t) + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  FullPart part[THREADS_MOST] = {0};
  pthread_t thread[THREADS_MOST];
  bool runs[THREADS_MOST] = {0};
  if (memory == MAP_FAILED) {
    say_fault(full, "its memory cannot be taken");
    return;
  }
  for (int32_t i = 0; i < threads; i++) {
    size_t from = each * (size_t)i < words ? each * (size_t)i : words;
    part[i].word = (uint64_t *)memory + from;
    part[i].count = words - from < each ? words - from : each;
    runs[i] = pthread_create(&thread[i], NULL, use_part, &part[i]) == 0;
    if (!runs[i]) (void)use_part(&part[i]);
  }
  for (int32_t i = 0; i < threads; i++) {
    if (runs[i]) (void)pthread_join(thread[i], NULL);
    full->memory += (int64_t)(part[i].written * sizeof(uint64_t));
    full->memory_wrong += part[i].wrong;
  }
  (void)munmap(memory, words * sizeof(uint64_t) + 1);
}

/* ---- the disk of checkpoints */

static void use_disk(const Plan *plan, const Preflight *facts, Full *full) {
  enum { LEAST_BYTES = 64 << 20, MOST_BYTES = 1 << 30 };
  PartTotals totals;
  char why[200];
  if (job_checkpoint_every_steps(plan) <= 0 && job_checkpoint_every_s(plan) <= 0) return;
  if (!disk_totals(plan, &totals)) return;
  int64_t bytes = totals.bytes;
  if (bytes < LEAST_BYTES) bytes = LEAST_BYTES;
  if (bytes > MOST_BYTES) bytes = MOST_BYTES;
  if (bytes > facts->disk / 4)
    bytes = facts->disk / 4; /* the quick check reports if that is too little */
  if (bytes <= 0) return;
  ScratchFolder scratch = {.bytes = bytes};
  if (!scratch_use(job_checkpoint_dir(plan), &scratch, why)) say_fault(full, why);
  full->disk = scratch.bytes;
  full->disk_mbs = (int64_t)scratch.mbs;
  full->disk_wrong = scratch.wrong;
}

/* ---- samples spread over the data */

static bool add_samples(const Plan *plan, bool valid, Checksum *sum, Status *status) {
  enum { SAMPLES_READ = 128, ALIGNMENT = 64 };
  Samples samples;
  if (!samples_open(&samples, plan, valid, status)) return false;
  size_t bytes = (size_t)samples_input_offset(plan, plan->inputs_count);
  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  uint8_t *slot = bytes > 0 ? aligned_alloc(ALIGNMENT, bytes) : NULL;
  bool good = slot != NULL || bytes == 0 || status_fail(status, STATUS_WORLD, "not enough memory");
  int64_t shown = samples.count < SAMPLES_READ ? samples.count : SAMPLES_READ;
  if (slot != NULL) memset(slot, 0, bytes);
  for (int64_t i = 0; good && slot != NULL && i < shown; i++) {
    good = samples_fill(&samples, i * (samples.count / shown), 0, slot, status);
    checksum_add(sum, slot, bytes);
  }
  free(slot);
  samples_close(&samples);
  return good;
}

static void read_data(const Plan *plan, Full *full) {
  Status status = {0};
  Checksum sum;
  checksum_begin(&sum);
  if (add_samples(plan, false, &sum, &status) && add_samples(plan, true, &sum, &status))
    full->samples = checksum_end(&sum);
  else
    say_fault(full, status.text);
}

/* ---- all cores at once */

static void compute(const Preflight *facts, Full *full) {
  enum { CORES_MOST = 256 };
  double seconds[PRODUCT_PARTS], all_s = 0;
  int32_t threads = facts->cores < CORES_MOST ? (int32_t)facts->cores : CORES_MOST;
  if (!product_measure(false, threads, 0.5, seconds)) return;
  for (int32_t i = 0; i < PRODUCT_PARTS; i++)
    all_s += seconds[i];
  if (all_s > 0) full->mflops = (int64_t)(PRODUCT_PARTS * product_flops() / all_s / 1e6);
}

/* ---- its devices, as the system shows them */

/* The first line of a file; "" when it cannot be read. */
static void first_line(const char *path, char *line, int32_t size_bytes) {
  FILE *file = fopen(path, "re");
  if (file == NULL || fgets(line, size_bytes, file) == NULL) *line = 0;
  if (file != NULL) (void)fclose(file);
  line[strcspn(line, "\n")] = 0;
}

/* "/sys/class/infiniband/mlx5_0/ports/1": its part of the list; nothing when it is down. */
static void add_port(const char *path, char ports[FULL_PORTS_BYTES]) {
  char file[4200], state[64], rate[64], card[64] = "", number[16] = "";
  (void)snprintf(file, sizeof file, "%.4000s/state", path);
  first_line(file, state, sizeof state);
  (void)snprintf(file, sizeof file, "%.4000s/rate", path);
  first_line(file, rate, sizeof rate);
  const char *name = strstr(path, "infiniband/");
  if (strstr(state, "ACTIVE") == NULL || name == NULL ||
      sscanf(name, "infiniband/%63[^/]/ports/%15s", card, number) != 2)
    return;
  size_t length = strlen(ports);
  (void)snprintf(ports + length, FULL_PORTS_BYTES - length, "%s%s/%s:%.0f", length > 0 ? "," : "",
                 card, number, strtod(rate, NULL));
}

void full_ports(const char *system, char ports[FULL_PORTS_BYTES]) {
  char all[512];
  glob_t found = {0};
  *ports = 0;
  (void)snprintf(all, sizeof all, "%.400s/class/infiniband/*/ports/*", system);
  if (glob(all, 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; i++)
      add_port(found.gl_pathv[i], ports);
  globfree(&found);
  if (!*ports) (void)snprintf(ports, FULL_PORTS_BYTES, "none");
}

/* A NIC is named by its verbs device, its network interface, or its address, of which no state is
 * known. */
static bool is_up(const char *nic, const char *ports) {
  char named[80], path[160], state[16];
  (void)snprintf(named, sizeof named, "%.64s/", nic);
  if (strstr(ports, named) != NULL) return true;
  (void)snprintf(path, sizeof path, "/sys/class/net/%.64s/operstate", nic);
  first_line(path, state, sizeof state);
  if (*state) return strcmp(state, "up") == 0;
  (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%.64s", nic);
  return access(path, F_OK) == 0;
}

/* Only for plans whose nodes are all of one kind: the NICs of another kind need not be here. */
static int64_t count_down(const Plan *plan, const char *ports) {
  int64_t down = 0;
  for (uint32_t i = 0; i < plan->seats_count && plan->places_count == 1; i++) {
    const char *nic = plan_string(plan, plan->seats[i].nic);
    down += *nic != 0 && !is_up(nic, ports);
  }
  return down;
}

static void name_driver(char driver[64]) {
  first_line("/sys/module/nvidia/version", driver, 64);
  if (!*driver) (void)snprintf(driver, 64, "none");
  for (char *p = driver; *p; p++)
    if (*p == ' ') *p = '_';
}

/* ---- the whole description */

static void look_at_gpus(const Plan *plan, const Preflight *facts, FILE *out) {
  static PreflightGpus gpus;
  if (job_target(plan) == TARGET_CPU) return;
  Deadline *deadline = deadline_begin(facts->node, "its GPUs", PART_S, slow_part);
  gpus_look(&gpus);
  deadline_end(deadline);
  gpus_print(&gpus, out);
}

void full_look(const Plan *plan, const Preflight *facts, Full *full, FILE *out) {
  *full = (Full){0};
  Deadline *deadline = deadline_begin(facts->node, "its memory", PART_S, slow_part);
  use_memory(plan, facts, full);
  deadline_end(deadline);
  deadline = deadline_begin(facts->node, "the file system of checkpoints", PART_S, slow_part);
  use_disk(plan, facts, full);
  deadline_end(deadline);
  deadline = deadline_begin(facts->node, "reading the data", PART_S, slow_part);
  read_data(plan, full);
  deadline_end(deadline);
  compute(facts, full);
  full_ports("/sys", full->ports);
  full->down = count_down(plan, full->ports);
  name_driver(full->driver);
  look_at_gpus(plan, facts, out);
}

void full_print(const Full *f, FILE *out) {
  fprintf(out,
          "full memory=%" PRId64 " memory_wrong=%" PRId64 " disk=%" PRId64 " disk_mbs=%" PRId64
          " disk_wrong=%" PRId64 " samples=%016" PRIx64 " mflops=%" PRId64 " down=%" PRId64
          " driver=%s ports=%s fault=%s\n",
          f->memory, f->memory_wrong, f->disk, f->disk_mbs, f->disk_wrong, f->samples, f->mflops,
          f->down, f->driver, f->ports, f->fault);
}
