/* record.c -- what is needed to run the same experiment again. */
#include "runtime/metrics/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/plan/plan_job.h"
#include "runtime/process/text.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 128 };

#define PRODUCTS_LINE ",\n \"matrix_products\": {\"fp32\": \"%s\", \"bf16\": \"%s\"}"

/* "AMD EPYC 9555 64-Core Processor", or "unknown". */
static void processor_name(char name[NAME_BYTES]) {
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "r");
  (void)snprintf(name, NAME_BYTES, "unknown");
  while (file && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (!colon || strncmp(line, "model name", strlen("model name")) != 0) continue;
    line[strcspn(line, "\n")] = 0;
    (void)snprintf(name, NAME_BYTES, "%s", colon + 1 + strspn(colon + 1, " "));
    break;
  }
  if (file) (void)fclose(file);
}

static void add_text(Text *text, const char *name, const char *value) {
  text_add(text, ",\n \"%s\": ", name);
  if (value)
    text_add_json_string(text, value);
  else
    text_add(text, "null");
}

/* Adds a text of every rank, in order; null for an empty one. */
static void add_of_ranks(const ReportSetup *setup, const char *name, const char *first,
                         Text *text) {
  text_add(text, ",\n \"%s\": [", name);
  for (int32_t rank = 0; rank < setup->ranks; rank++) {
    const char *value = first + (size_t)rank * setup->rank_stride;
    text_add(text, rank > 0 ? ", " : "");
    if (*value)
      text_add_json_string(text, value);
    else
      text_add(text, "null");
  }
  text_add(text, "]");
}

/* For each op, the names of its kernels. */
static void add_attention(const ReportSetup *setup, Text *text) {
  text_add(text, ",\n \"attention\": [");
  for (int32_t i = 0; i < setup->attention_count; i++) {
    const AttentionTold *told = &setup->attention[i];
    text_add(text, "%s\n  {\"of\": ", i > 0 ? "," : "");
    text_add_json_string(text, told->of);
    text_add(text, ", \"kernel\": \"%s\", \"records\": %d, \"by\": \"%s\", \"why\": ", told->kernel,
             told->records, told->by);
    if (told->why != NULL)
      text_add_json_string(text, told->why);
    else
      text_add(text, "null");
    text_add(text, "}");
  }
  text_add(text, "]");
}

static void add_settings(const Plan *plan, Text *text) {
  const char *before = "\n  ";
  text_add(text, ",\n \"settings\": {");
  for (uint32_t i = 0; i < plan->settings_count; i++) {
    const PlanSetting *setting = &plan->settings[i];
    char number[SETTING_NUMBER_BYTES];
    if (!plan_setting_is_key(setting)) continue;
    text_add(text, "%s", before);
    text_add_json_string(text, plan_string(plan, setting->key));
    text_add(text, ": {\"value\": ");
    text_add_json_string(text, plan_setting_text(plan, setting, number));
    text_add(text, ", \"origin\": ");
    text_add_json_string(text, plan_string(plan, setting->origin));
    text_add(text, "}");
    before = ",\n  ";
  }
  text_add(text, "}}\n");
}

static void add_record(const ReportSetup *setup, Text *text) {
  const Plan *plan = setup->plan;
  const char *reason = job_reason(plan); /* "" when none was given */
  char processor[NAME_BYTES];
  processor_name(processor);
  text_add(text, "{\"version\": 1");
  add_text(text, "job", job_name(plan));
  add_text(text, "reason", *reason ? reason : NULL);
  add_text(text, "program", LOCKSTEP_VERSION);
  text_add(text, ",\n \"plan\": \"%016llx\",\n \"plan_version\": %d", (unsigned long long)plan->id,
           PLAN_VERSION);
  text_add(text, ",\n \"first_step\": %lld,\n \"last_step\": %lld", (long long)setup->first_step,
           (long long)setup->last_step);
  add_text(text, "resumed_from", setup->resumed_from);
  text_add(text, ",\n \"ranks\": %d,\n \"threads\": %u", setup->ranks, job_threads(plan));
  add_text(text, "device", job_device(plan));
  add_text(text, "on", setup->on);
  if (setup->gpu != NULL) {
    add_text(text, "gpu", setup->gpu->id.name);
    add_of_ranks(setup, "gpus", setup->gpu_uuid, text);
    text_add(text, ",\n \"nccl_version\": %d", setup->nccl_version);
    text_add(text, ",\n \"deterministic\": %s", setup->is_deterministic ? "true" : "false");
    add_attention(setup, text);
  }
  add_text(text, "processor", processor);
  add_of_ranks(setup, "cores", setup->cores, text);
  text_add(text, ",\n \"cores_wanted\": %d,\n \"cores_allowed\": %d", setup->cores_wanted,
           setup->cores_allowed);
  add_text(text, "isa", setup->isa);
  add_text(text, "kernels", setup->kernels);
  if (setup->weights_sum != 0)
    text_add(text, ",\n \"weights_content\": \"%016llx\"", (unsigned long long)setup->weights_sum);
  text_add(text, PRODUCTS_LINE, setup->products[0], setup->products[1]);
  add_settings(plan, text);
}

/* Keeps the record of the steps before these. There is none if a run continues from another run's
 * file. Of several starts from one step, the first has made the steps before. */
static bool keep_last(const char *path, const char *folder, int64_t step) {
  char kept[PATH_BYTES];
  (void)snprintf(kept, sizeof kept, "%.*s/job.until_%08lld.json", PATH_BYTES - 64, folder,
                 (long long)step);
  if (step == 0 || access(kept, F_OK) == 0) return true;
  return rename(path, kept) == 0 || errno == ENOENT;
}

bool record_write(const ReportSetup *setup, Status *status) {
  const char *folder = job_run_dir(setup->plan);
  char path[PATH_BYTES], temporary[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%.*s/job.json", PATH_BYTES - 64, folder);
  (void)snprintf(temporary, sizeof temporary, "%.*s/job.json.new", PATH_BYTES - 64, folder);
  Text text;
  int descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool good = descriptor >= 0;
  if (good) {
    text_start(&text, descriptor);
    add_record(setup, &text);
    good = text_flush(&text) && fsync(descriptor) == 0;
    good = close(descriptor) == 0 && good;
  }
  if (good && keep_last(path, folder, setup->first_step - 1) && rename(temporary, path) == 0)
    return true;
  int failure = errno;
  (void)unlink(temporary);
  return status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(failure));
}

void record_products_before(const ReportSetup *setup, char products[RECORD_PRODUCTS_BYTES]) {
  const char *folder = job_run_dir(setup->plan);
  char path[PATH_BYTES], line[256], f32[32], bf16[32];
  *products = 0;
  (void)snprintf(path, sizeof path, "%.*s/job.json", PATH_BYTES - 64, folder);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    int found = sscanf(
        line, " \"matrix_products\": {\"fp32\": \"%31[^\"]\", \"bf16\": \"%31[^\"]\"", f32, bf16);
    if (found != 2) continue;
    (void)snprintf(products, RECORD_PRODUCTS_BYTES, "fp32 %s, bf16 %s", f32, bf16);
    break;
  }
  if (file) (void)fclose(file);
}
