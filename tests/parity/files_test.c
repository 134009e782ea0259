/* files_test.c -- runs whose states are in files on disks that fail: the run ends with the rank,
 * the tensor and the place, nothing is left in the folder, and a slow disk only takes time. */
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/device/files.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"

enum { WELL = 40 }; /* transfers before a fault: the first steps */

static char folder[64];
static FileCalls real;
static _Atomic int32_t transfers;

static int64_t read_fails(bool reads, void *memory, int64_t moved, off_t at) {
  (void)memory, (void)at;
  if (!reads || atomic_fetch_add(&transfers, 1) < WELL) return moved;
  errno = EIO;
  return -1;
}

static int64_t read_ends(bool reads, void *memory, int64_t moved, off_t at) {
  (void)memory, (void)at;
  return reads && atomic_fetch_add(&transfers, 1) >= WELL ? 0 : moved;
}

static int64_t read_wrong(bool reads, void *memory, int64_t moved, off_t at) {
  (void)at;
  if (reads && moved > 0 && atomic_fetch_add(&transfers, 1) >= WELL) *(uint8_t *)memory ^= 1;
  return moved;
}

static int64_t write_full(bool reads, void *memory, int64_t moved, off_t at) {
  (void)memory, (void)at;
  if (reads || atomic_fetch_add(&transfers, 1) < WELL) return moved;
  errno = ENOSPC;
  return -1;
}

static int64_t slow_and_short(bool reads, void *memory, int64_t moved, off_t at) {
  (void)reads, (void)memory, (void)at;
  const struct timespec pause = {.tv_nsec = 1000000};
  (void)nanosleep(&pause, NULL);
  return moved > 12288 ? 12288 : moved;
}

static bool make_plan(Plan *plan) {
  char run[128], path[128], offload[128];
  (void)snprintf(run, sizeof run, "log.dir=%s/run", folder);
  (void)snprintf(path, sizeof path, "%s/files.plan", folder);
  (void)snprintf(offload, sizeof offload, "offload={ \"nvme\", path = \"%s\" }", folder);
  const JobChanges changes = {{run, offload, "train.steps=6", "train.batch=8 sequences",
                               "cluster.devices=2", "parallel.zero=3", "parallel.zero_keep=0B",
                               "precision=bf16", "checkpoint.every=never"}};
  const bool planned = job_plan("llama", &changes, path, plan);
  CHECK(planned);
  return planned;
}

static bool run(const Plan *plan, Status *status) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/run", folder);
  job_folder_remove(path);
  RunOptions options = run_defaults(plan);
  options.quiet = true;
  options.plot = options.measure_peak = false;
  atomic_store(&transfers, 0);
  *status = (Status){0};
  return run_job(plan, &options, status);
}

static double last_loss(const Plan *plan) {
  char path[160], line[4096];
  double loss = -1;
  (void)snprintf(path, sizeof path, "%s/metrics.jsonl", job_run_dir(plan));
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    const char *at = strstr(line, "\"loss\":");
    if (at != NULL) loss = strtod(at + strlen("\"loss\":"), NULL);
  }
  if (file != NULL) (void)fclose(file);
  return loss;
}

/* No file of a rank has a name. */
static int32_t files_left(void) {
  int32_t count = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
    count += strncmp(entry->d_name, ".lockstep", strlen(".lockstep")) == 0;
  if (dir != NULL) closedir(dir);
  return count;
}

static void check_fault(const Plan *plan, int64_t (*moved)(bool, void *, int64_t, off_t),
                        const char *why) {
  Status status;
  file_calls.moved = moved;
  CHECK(!run(plan, &status));
  file_calls = real;
  CHECK_INT(status.code, STATUS_WORLD);
  const char *const parts[] = {"rank ", " of ", "layer ", folder, "bytes at ", why};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strstr(status.text, parts[i]) == NULL) {
      printf("no '%s' in: %s\n", parts[i], status.text);
      check_failures++;
    }
  CHECK_INT(files_left(), 0);
}

int main(void) {
  Plan plan;
  Status status;
  real = file_calls;
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_files_run_%d", (int)getpid());
  job_folder(folder, 4096, 64);
  if (!make_plan(&plan)) return 1;
  TEST("a disk that fails ends the run, with the rank, the tensor and the place") {
    check_fault(&plan, read_fails, "Input/output error");
    check_fault(&plan, read_ends, "the file ends there");
    check_fault(&plan, read_wrong, "offload-corrupt");
    check_fault(&plan, write_full, "No space left on device");
  }
  TEST("a disk that is slow and moves less than it is asked to changes no number") {
    CHECK(run(&plan, &status));
    const double loss = last_loss(&plan);
    file_calls.moved = slow_and_short;
    CHECK(run(&plan, &status));
    file_calls = real;
    CHECK(loss > 0 && last_loss(&plan) == loss);
  }
  plan_close(&plan);
  job_folder_remove(folder);
  CHECK_DONE();
}
