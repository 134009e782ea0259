/* files.c -- metrics.jsonl: a header line, then a line a step and a line a validation.
 * summary.json, loss.svg. */
#include "runtime/metrics/files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/folder.h"

enum { PATH_BYTES = 4096 };

static int open_file(const Report *report, const char *name, int flags, Status *status) {
  const Plan *plan = report->setup.plan;
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/%s", plan_string(plan, plan->jobs[0].run_dir), name);
  int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (descriptor < 0)
    (void)status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(errno));
  return descriptor;
}

static void add_number(Text *text, const char *name, double value) {
  text_add(text, ",\"%s\":", name);
  text_add_json_number(text, value);
}

static void add_identity(const Report *report, Text *text) {
  const ReportSetup *setup = &report->setup;
  const Plan *plan = setup->plan;
  const PlanJob *job = &plan->jobs[0];
  text_add(text, "\"job\":");
  text_add_json_string(text, plan_string(plan, job->name));
  text_add(text, ",\"model\":");
  text_add_json_string(text, plan_string(plan, job->model));
  text_add(text, ",\"plan\":\"%016llx\",\"plan_version\":%d,\"program\":\"" LOCKSTEP_VERSION "\"",
           (unsigned long long)plan->id, PLAN_VERSION);
  text_add(text, ",\"seed\":%llu,\"steps\":%lld,\"batch_samples\":%lld,\"sample_tokens\":%lld",
           (unsigned long long)job->seed, (long long)job->steps, (long long)job->batch_samples,
           (long long)job->sample_tokens);
  text_add(text, ",\"ranks\":%d,\"replicas\":%d,\"threads\":%u,\"kernels\":\"%s\"", setup->ranks,
           setup->replicas, job->threads, setup->kernels);
  text_add(text, ",\"parameters\":%lld,\"flops_per_token\":%lld", (long long)job->parameters,
           (long long)job->flops_per_token);
  add_number(text, "peak_flops_per_s", setup->peak_flops_per_s);
  text_add(text, ",\"arena_bytes\":%llu,\"first_step\":%lld",
           (unsigned long long)setup->arena_bytes, (long long)setup->first_step);
}

bool report_files_open(Report *report, Status *status) {
  const Plan *plan = report->setup.plan;
  text_start(&report->metrics, -1);
  if (!folder_make(plan_string(plan, plan->jobs[0].run_dir), status)) return false;
  int flags = report->setup.resumed_from ? O_APPEND : O_TRUNC;
  int descriptor = open_file(report, "metrics.jsonl", flags, status);
  if (descriptor < 0) return false;
  text_start(&report->metrics, descriptor);
  text_add(&report->metrics, "{\"header\":1,");
  add_identity(report, &report->metrics);
  text_add(&report->metrics, "}\n");
  return text_flush(&report->metrics) ||
         status_fail(status, STATUS_WORLD, "metrics.jsonl: cannot be written");
}

void report_files_step(Report *report, const StepFacts *facts, double tokens_per_s, double mfu) {
  Text *text = &report->metrics;
  text_add(text, "{\"step\":%lld", (long long)facts->step);
  add_number(text, "loss", facts->loss);
  add_number(text, "grad_norm", facts->grad_norm);
  add_number(text, "lr", facts->lr);
  add_number(text, "tokens_per_s", tokens_per_s);
  add_number(text, "mfu", mfu);
  add_number(text, "step_ms", (double)facts->step_ns / 1e6);
  add_number(text, "data_wait_ms", (double)facts->data_wait_ns / 1e6);
  text_add(text, ",\"comm_bytes\":%lld}\n", (long long)facts->comm_bytes);
  (void)text_flush(text);
}

void report_files_valid(Report *report, int64_t step, double loss) {
  text_add(&report->metrics, "{\"valid_step\":%lld", (long long)step);
  add_number(&report->metrics, "valid_loss", loss);
  text_add(&report->metrics, "}\n");
  (void)text_flush(&report->metrics);
}

uint64_t report_resident_bytes(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return (uint64_t)usage.ru_maxrss * 1024;
}

static void add_summary(const Report *report, const EndFacts *facts, Text *text) {
  const PlanJob *job = &report->setup.plan->jobs[0];
  double steps_s = (double)report->steps_ns / 1e9;
  double tokens = (double)report->steps * (double)job->batch_samples * (double)job->sample_tokens;
  double tokens_per_s = steps_s > 0 ? tokens / steps_s : 0.0;
  text_add(text, "{\"outcome\":\"%s\",", facts->outcome);
  add_identity(report, text);
  text_add(text, ",\"steps_done\":%lld", (long long)report->steps);
  add_number(text, "loss", report->last_loss);
  add_number(text, "valid_loss", report->last_valid);
  add_number(text, "best_valid_loss", report->best_valid);
  add_number(text, "unigram_entropy", report->setup.unigram > 0 ? report->setup.unigram : NAN);
  add_number(text, "steps_s", steps_s);
  add_number(text, "tokens_per_s", tokens_per_s);
  double peak = report->setup.peak_flops_per_s;
  add_number(text, "mfu",
             peak > 0 && job->flops_per_token > 0
                 ? tokens_per_s * (double)job->flops_per_token / peak
                 : NAN);
  add_number(text, "data_wait_s", (double)report->wait_ns / 1e9);
  text_add(text, ",\"comm_bytes\":%lld", (long long)report->comm_bytes);
  text_add(text,
           ",\"planned_peak_bytes\":%llu,\"measured_peak_bytes\":%llu,\"resident_bytes\":%llu",
           (unsigned long long)facts->planned_bytes, (unsigned long long)facts->measured_bytes,
           (unsigned long long)report_resident_bytes());
  text_add(text, ",\"checkpoint\":");
  if (facts->checkpoint)
    text_add_json_string(text, facts->checkpoint);
  else
    text_add(text, "null");
  text_add(text, "}\n");
}

static bool write_and_close(Text *text, const char *name, Status *status) {
  bool written = text_flush(text);
  written = close(text->descriptor) == 0 && written;
  return written || status_fail(status, STATUS_WORLD, "%s: cannot be written", name);
}

bool report_files_close(Report *report, const EndFacts *facts, const Plot *plot, Status *status) {
  bool good = write_and_close(&report->metrics, "metrics.jsonl", status);
  int descriptor = open_file(report, "summary.json", O_TRUNC, status);
  if (descriptor < 0) return false;
  Text *text = &report->metrics; /* its own file is closed */
  text_start(text, descriptor);
  add_summary(report, facts, text);
  good = write_and_close(text, "summary.json", status) && good;
  descriptor = open_file(report, "loss.svg", O_TRUNC, status);
  if (descriptor < 0) return false;
  text_start(text, descriptor);
  plot_svg(plot, text);
  good = write_and_close(text, "loss.svg", status) && good;
  if (!report->setup.json) return good;
  text_start(text, STDOUT_FILENO);
  add_summary(report, facts, text);
  return (text_flush(text) || status_fail(status, STATUS_WORLD, "stdout: cannot be written")) &&
         good;
}
