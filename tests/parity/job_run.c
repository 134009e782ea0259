#include "tests/parity/job_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/math/philox.h"
#include "runtime/plan/plan_job.h"

enum { LINE_BYTES = 4096, PATH_BYTES = 512 };

static double number_after(const char *line, const char *name) {
  char key[64];
  (void)snprintf(key, sizeof key, "\"%s\":", name);
  const char *at = strstr(line, key);
  return at ? strtod(at + strlen(key), NULL) : NAN;
}

static FILE *open_of_run(const Plan *plan, const char *name) {
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/%s", job_run_dir(plan), name);
  FILE *file = fopen(path, "r");
  if (!file) printf("%s: cannot be read\n", path);
  return file;
}

static bool read_metrics(const Plan *plan, RunRecord *record) {
  FILE *file = open_of_run(plan, "metrics.jsonl");
  char line[LINE_BYTES];
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "{\"step\":", 8) != 0) continue;
    int64_t step = (int64_t)number_after(line, "step");
    if (step < 1 || step > RUN_STEPS_MAX) continue;
    record->last_step = step;
    record->loss[step] = number_after(line, "loss");
    record->norm[step] = number_after(line, "grad_norm");
    record->comm_bytes[step] = number_after(line, "comm_bytes");
  }
  if (file) fclose(file);
  return file != NULL;
}

static bool read_summary(const Plan *plan, RunRecord *record) {
  FILE *file = open_of_run(plan, "summary.json");
  char line[LINE_BYTES];
  bool good = file && fgets(line, sizeof line, file);
  if (good) {
    record->planned_bytes = (uint64_t)number_after(line, "planned_peak_bytes");
    record->addressed_bytes = (uint64_t)number_after(line, "addressed_peak_bytes");
  }
  if (file) fclose(file);
  return good;
}

bool job_run(const Plan *plan, int64_t steps, RunRecord *record) {
  RunOptions options = run_defaults(plan);
  options.steps = steps;
  return job_run_as(plan, &options, record);
}

bool job_run_as(const Plan *plan, const RunOptions *as, RunRecord *record) {
  *record = (RunRecord){0};
  RunOptions options = *as;
  options.quiet = true;
  options.plot = false;
  options.measure_peak = false;
  Status status = {0};
  if (!run_job(plan, &options, &status)) {
    printf("%s: %s\n", job_run_dir(plan), status.text);
    return false;
  }
  return read_metrics(plan, record) && read_summary(plan, record);
}

void job_folder(const char *folder, int64_t count, uint32_t vocab) {
  char path[PATH_BYTES];
  (void)mkdir(folder, 0777);
  (void)snprintf(path, sizeof path, "%s/tokens.u8", folder);
  FILE *file = fopen(path, "wb");
  if (!file) {
    printf("%s: cannot be written\n", path);
    exit(1);
  }
  uint32_t id = 0, word[4];
  for (int64_t i = 0; i < count; i++) {
    philox4(20, 0, (uint64_t)i, word);
    id = word[0] % 5 > 0 ? (5 * id + 3) % vocab : word[1] % vocab; /* mostly what follows */
    fputc((int)id, file);
  }
  fclose(file);
}

void job_folder_remove(const char *folder) {
  char command[PATH_BYTES];
  (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) printf("%s: cannot be removed\n", folder);
}
