/* look.c -- describes one node. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "kernels/product.h"
#include "runtime/checkpoint/checksum.h"
#include "runtime/data/samples.h"
#include "runtime/device/arena.h"
#include "runtime/plan/plan_job.h"
#include "runtime/preflight/preflight.h"
#include "runtime/process/cgroup.h"

/* Under Slurm a node has its own name, independent of the host name. */
static void name_node(char name[128]) {
  const char *slurm = getenv("SLURMD_NODENAME");
  if (slurm != NULL && *slurm)
    (void)snprintf(name, 128, "%s", slurm);
  else if (gethostname(name, 127) != 0)
    (void)snprintf(name, 128, "this-machine");
  name[127] = 0;
  for (char *p = name; *p; p++)
    if ((unsigned char)*p <= ' ') *p = '_';
}

/* A sum of the program's bytes; 0: the program cannot be read. */
static uint64_t sum_program(void) {
  int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status;
  uint64_t sum = 0;
  if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0) {
    size_t count = (size_t)status.st_size;
    void *bytes = mmap(NULL, count, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      sum = checksum(bytes, count);
      (void)munmap(bytes, count);
    }
  }
  if (file >= 0) (void)close(file);
  return sum;
}

static int64_t free_bytes(const char *path) {
  struct statvfs status;
  if (statvfs(path, &status) != 0) return -1;
  return (int64_t)((uint64_t)status.f_bavail * status.f_frsize);
}

/* Compares this node with the nodes that the plan describes: the fewest devices that it lacks of
 * any.
 */
static int64_t count_lacking(const Plan *plan) {
  int64_t least = 0;
  for (uint32_t i = 0; i < plan->places_count; i++) {
    const PlanPlace *run = &plan->places[i];
    int64_t lacking = 0;
    for (uint32_t k = 0; k < run->seats_count; k++) {
      char path[128];
      const char *pci = plan_string(plan, plan->seats[run->seats_first + k].pci);
      (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%.64s", pci);
      lacking += *pci != 0 && access(path, F_OK) != 0;
    }
    if (i == 0 || lacking < least) least = lacking;
  }
  return least;
}

static int64_t lockable_bytes(void) {
  struct rlimit locked;
  return getrlimit(RLIMIT_MEMLOCK, &locked) != 0 || locked.rlim_cur == RLIM_INFINITY
             ? -1
             : (int64_t)locked.rlim_cur;
}

static void look_at_data(const Plan *plan, char why[200]) {
  Samples samples;
  Status status = {0};
  bool good = true;
  for (int valid = 0; good && valid < 2; valid++) {
    good = samples_open(&samples, plan, valid != 0, &status);
    if (good) samples_close(&samples);
  }
  (void)snprintf(why, 200, "%.199s", good ? "" : status.text);
  for (char *p = why; *p; p++)
    if (*p == '\n') *p = ' ';
}

static int64_t measure_product(const Plan *plan) {
  double part[PRODUCT_PARTS], all = 0;
  int32_t threads = job_threads(plan) < 1 ? 1 : (int32_t)job_threads(plan);
  if (!product_measure(false, threads, 0.1, part)) return 0;
  for (int32_t i = 0; i < PRODUCT_PARTS; i++)
    all += part[i];
  return all > 0 ? (int64_t)(PRODUCT_PARTS * product_flops() / all / 1e6) : 0;
}

void preflight_look(const Plan *plan, Preflight *facts) {
  struct timespec now;
  *facts = (Preflight){.program = sum_program(),
                       .plan = plan->id,
                       .cores = processors_here(),
                       .memory = (int64_t)arena_available_bytes(),
                       .memlock = lockable_bytes(),
                       .lacking = count_lacking(plan),
                       .shm = free_bytes("/dev/shm")};
  name_node(facts->node);
  clock_gettime(CLOCK_REALTIME, &now);
  facts->clock_ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
  disk_look(plan, &facts->checkpoints);
  facts->disk = facts->checkpoints.free_bytes;
  facts->saved = facts->checkpoints.saved;
  offload_look(plan, &facts->states);
  look_at_data(plan, facts->data);
  facts->mflops = measure_product(plan);
}

void preflight_print(const Preflight *f, FILE *out) {
  fprintf(out,
          "%s program=%016" PRIx64 " plan=%016" PRIx64 " cores=%" PRId64 " memory=%" PRId64
          " memlock=%" PRId64 " lacking=%" PRId64 " shm=%" PRId64 " disk=%" PRId64 " saved=%" PRId64
          " clock_ms=%" PRId64 " mflops=%" PRId64 " data=%s\n",
          f->node, f->program, f->plan, f->cores, f->memory, f->memlock, f->lacking, f->shm,
          f->disk, f->saved, f->clock_ms, f->mflops, f->data);
  disk_print(&f->checkpoints, out);
  if (f->states.free_bytes >= 0 || f->states.why[0] != '\0') offload_print(&f->states, out);
}
