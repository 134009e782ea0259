/* files.c -- metrics.jsonl: a header line, then a line for each step and each validation.
 * summary.json, loss.svg. */
#include "runtime/metrics/files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/metrics/cost.h"
#include "runtime/plan/plan_job.h"
#include "runtime/process/folder.h"
#include "runtime/process/plural.h"

enum { PATH_BYTES = 4096 };

static const char *path_of(char path[PATH_BYTES], const Report *report, const char *name,
                           const char *ending) {
  const Plan *plan = report->setup.plan;
  (void)snprintf(path, PATH_BYTES, "%.4000s/%s%s", job_run_dir(plan), name, ending);
  return path;
}

static int open_file(const char *path, int flags, Status *status) {
  int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (descriptor < 0)
    (void)status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(errno));
  return descriptor;
}

static void add_number(Text *text, const char *name, double value) {
  text_add(text, ",\"%s\":", name);
  text_add_json_number(text, value);
}

/* "losses": each mean by its name, without its weight. */
static void add_losses(Text *text, const Report *report, const char *key, const LossSums *sums) {
  if (!losses_are_told(&report->losses)) return;
  for (int32_t i = 0; i < report->losses.count; i++) {
    text_add(text, i == 0 ? ",\"%s\":{" : ",", key);
    text_add_json_string(text, report->losses.at[i].name);
    text_add(text, ":");
    text_add_json_number(text, loss_mean(sums, i));
  }
  text_add(text, "}");
}

static void add_identity(const Report *report, Text *text) {
  const ReportSetup *setup = &report->setup;
  const Plan *plan = setup->plan;
  text_add(text, "\"job\":");
  text_add_json_string(text, job_name(plan));
  text_add(text, ",\"model\":");
  text_add_json_string(text, job_model(plan));
  text_add(text, ",\"plan\":\"%016llx\",\"plan_version\":%d,\"program\":\"" LOCKSTEP_VERSION "\"",
           (unsigned long long)plan->id, PLAN_VERSION);
  text_add(text, ",\"seed\":%llu,\"steps\":%lld,\"batch_samples\":%lld,\"sample_tokens\":%lld",
           (unsigned long long)job_seed(plan), (long long)job_steps(plan),
           (long long)job_batch_samples(plan), (long long)job_sample_tokens(plan));
  text_add(text, ",\"ranks\":%d,\"replicas\":%d,\"threads\":%u,\"kernels\":\"%s\",\"isa\":\"%s\"",
           setup->ranks, setup->replicas, job_threads(plan), setup->kernels, setup->isa);
  text_add(text, ",\"device\":");
  text_add_json_string(text, job_device(plan));
  text_add(text, ",\"on\":\"%s\"", setup->on);
  text_add(text, ",\"parameters\":%lld,\"flops_per_token\":%lld", (long long)job_parameters(plan),
           (long long)job_flops_per_token(plan));
  add_number(text, "peak_flops_per_s", setup->peak_flops_per_s);
  text_add(text, ",\"arena_bytes\":%llu,\"first_step\":%lld",
           (unsigned long long)setup->arena_bytes, (long long)setup->first_step);
}

/* Writes the line in `metrics`. If it does not fit on the disk nothing of it stays, so that the
 * next line starts a new line; the next one is tried again. */
static bool write_line(Report *report) {
  Text *text = &report->metrics;
  size_t length = text->length;
  if (text->descriptor >= 0 && text_flush(text)) {
    report->metrics_bytes += (int64_t)length;
    return true;
  }
  int failure = text->failure;
  (void)!ftruncate(text->descriptor, report->metrics_bytes);
  text_start(text, text->descriptor);
  char path[PATH_BYTES];
  if (report->metrics_lost++ == 0)
    text_warn("warning: %s: lines are being lost: %s", path_of(path, report, "metrics.jsonl", ""),
              strerror(failure));
  report->metrics_failure = failure;
  return false;
}

bool report_files_open(Report *report, History *history, Status *status) {
  const Plan *plan = report->setup.plan;
  const char *folder = job_run_dir(plan);
  char path[PATH_BYTES];
  text_start(&report->metrics, -1);
  if (!folder_make(folder, status) ||
      !history_take_up(history, folder, report->setup.first_step, status))
    return false;
  (void)unlink(path_of(path, report, "summary.json", "")); /* from an earlier start */
  int descriptor = open_file(path_of(path, report, "metrics.jsonl", ""), O_APPEND, status);
  if (descriptor < 0) return false;
  report->metrics_bytes = lseek(descriptor, 0, SEEK_END);
  text_start(&report->metrics, descriptor);
  text_add(&report->metrics, "{\"header\":1,");
  add_identity(report, &report->metrics);
  text_add(&report->metrics, "}\n");
  return write_line(report) || status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path,
                                           strerror(report->metrics_failure));
}

/* Values that the GPU does not report are null. */
static void add_gpu(const GpuSample *gpu, Text *text) {
  const struct {
    const char *name;
    double value;
  } all[] = {
      {"watts", gpu->watts},
      {"sm_mhz", (double)gpu->sm_mhz},
      {"memory_mhz", (double)gpu->memory_mhz},
      {"celsius", (double)gpu->celsius},
      {"used_bytes", (double)gpu->used_bytes},
      {"slowed", (double)gpu->slowed},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    text_add(text, "%s\"%s\":", i > 0 ? "," : ",\"gpu\":{", all[i].name);
    text_add_json_number(text, all[i].value < 0 ? NAN : all[i].value);
  }
  text_add(text, "}");
}

void report_files_step(Report *report, const StepFacts *facts, double tokens_per_s, double mfu) {
  Text *text = &report->metrics;
  text_add(text, "{\"step\":%lld", (long long)facts->step);
  add_number(text, "loss", loss_total(&report->losses, &facts->losses));
  add_number(text, "grad_norm", facts->grad_norm);
  if (facts->loss_scale > 0) {
    add_number(text, "loss_scale", facts->loss_scale);
    text_add(text, ",\"skipped\":%s", facts->skipped ? "true" : "false");
  }
  add_number(text, "lr", facts->lr);
  add_number(text, "tokens_per_s", tokens_per_s);
  add_number(text, "mfu", mfu);
  add_number(text, "step_ms", (double)facts->step_ns / 1e6);
  add_number(text, "data_wait_ms", (double)facts->data_wait_ns / 1e6);
  if (facts->save_wait_ns > 0) add_number(text, "save_wait_ms", (double)facts->save_wait_ns / 1e6);
  text_add(text, ",\"comm_bytes\":%lld", (long long)facts->comm_bytes);
  if (report->setup.asks_times) breakdown_print(facts->went, report->setup.plan, text);
  if (facts->gpu) add_gpu(facts->gpu, text);
  add_losses(text, report, "losses", &facts->losses);
  text_add(text, "}\n");
  (void)write_line(report);
}

void report_files_valid(Report *report, int64_t step, const LossSums *losses) {
  text_add(&report->metrics, "{\"valid_step\":%lld", (long long)step);
  add_number(&report->metrics, "valid_loss", loss_total(&report->losses, losses));
  add_losses(&report->metrics, report, "valid_losses", losses);
  text_add(&report->metrics, "}\n");
  (void)write_line(report);
}

void report_files_save(Report *report, const SaveFacts *facts) {
  text_add(&report->metrics, "{\"save_step\":%lld", (long long)facts->step);
  add_number(&report->metrics, "save_stall_ms", (double)facts->stall_ns / 1e6);
  add_number(&report->metrics, "save_write_ms", (double)facts->write_ns / 1e6);
  text_add(&report->metrics, "}\n");
  (void)write_line(report);
}

void report_files_save_failed(Report *report, int64_t step, const char *why) {
  text_add(&report->metrics, "{\"save_step\":%lld,\"save_failed\":", (long long)step);
  text_add_json_string(&report->metrics, why);
  text_add(&report->metrics, "}\n");
  (void)write_line(report);
}

uint64_t report_resident_bytes(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return (uint64_t)usage.ru_maxrss * 1024;
}

static void add_summary(const Report *report, const EndFacts *facts, Text *text) {
  double steps_s = (double)report->steps_ns / 1e9;
  double tokens = (double)report->steps * (double)job_batch_samples(report->setup.plan) *
                  (double)job_sample_tokens(report->setup.plan);
  double tokens_per_s = steps_s > 0 ? tokens / steps_s : 0.0;
  text_add(text, "{\"outcome\":\"%s\",", facts->stopped ? "stopped" : "done");
  add_identity(report, text);
  text_add(text, ",\"steps_done\":%lld,\"empty_steps\":%lld,\"skipped_steps\":%lld",
           (long long)report->steps, (long long)report->empty_steps,
           (long long)report->skipped_steps);
  add_number(text, "loss", report->last_loss);
  add_number(text, "valid_loss", report->last_valid);
  add_number(text, "best_valid_loss", report->best_valid);
  add_number(text, "unigram_entropy", report->setup.unigram > 0 ? report->setup.unigram : NAN);
  add_number(text, "steps_s", steps_s);
  RunCost cost = cost_of(&report->setup, report->held_s);
  add_number(text, "gpu_hours", cost.gpu_hours);
  add_number(text, "core_hours", cost.core_hours);
  add_number(text, "node_hours", cost.node_hours);
  add_number(text, "cost", cost.dollars);
  add_number(text, "tokens_per_s", tokens_per_s);
  double peak = report->setup.peak_flops_per_s;
  add_number(text, "mfu",
             peak > 0 && job_flops_per_token(report->setup.plan) > 0
                 ? tokens_per_s * (double)job_flops_per_token(report->setup.plan) / peak
                 : NAN);
  add_number(text, "data_wait_s", (double)report->wait_ns / 1e9);
  text_add(text, ",\"comm_bytes\":%lld,\"metrics_lines_lost\":%lld", (long long)report->comm_bytes,
           (long long)report->metrics_lost);
  text_add(text, ",\"planned_peak_bytes\":%llu,\"addressed_peak_bytes\":%llu",
           (unsigned long long)facts->planned_bytes, (unsigned long long)facts->addressed_bytes);
  if (facts->touched_bytes > 0)
    text_add(text, ",\"touched_bytes\":%llu", (unsigned long long)facts->touched_bytes);
  else
    text_add(text, ",\"touched_bytes\":null");
  add_number(text, "gpu_outside_bytes",
             facts->gpu_outside_bytes < 0 ? NAN : (double)facts->gpu_outside_bytes);
  text_add(text, ",\"resident_bytes\":%llu", (unsigned long long)report_resident_bytes());
  if (facts->ranks != NULL) stragglers_json(facts->ranks, text);
  offload_json(facts->offload, text);
  text_add(text, ",\"checkpoint\":");
  if (facts->checkpoint)
    text_add_json_string(text, facts->checkpoint);
  else
    text_add(text, "null");
  text_add(text, ",\"checkpoint_saves\":%lld", (long long)facts->saves);
  add_number(text, "checkpoint_stall_s", (double)facts->save_stall_ns / 1e9);
  add_number(text, "checkpoint_end_s", (double)facts->save_end_ns / 1e9);
  add_number(text, "checkpoint_write_s", (double)facts->save_write_ns / 1e9);
  text_add(text, ",\"checkpoint_postponed\":%lld,\"checkpoint_failed\":%lld",
           (long long)facts->saves_postponed, (long long)facts->saves_failed);
  add_losses(text, report, "losses", &report->last_losses);
  add_losses(text, report, "valid_losses", &report->last_valid_losses);
  text_add(text, "}\n");
}

/* Writes one file at the end: under a temporary name first, so that a named file is complete. */
typedef struct EndFile {
  const Report *report;
  const char *name;
  Text text;
} EndFile;

static bool start_file(EndFile *file, Status *status) {
  char path[PATH_BYTES];
  int descriptor = open_file(path_of(path, file->report, file->name, ".new"), O_TRUNC, status);
  if (descriptor < 0) return false;
  text_start(&file->text, descriptor);
  return true;
}

static bool finish_file(EndFile *file, Status *status) {
  char path[PATH_BYTES], fresh[PATH_BYTES];
  (void)path_of(path, file->report, file->name, "");
  (void)path_of(fresh, file->report, file->name, ".new");
  (void)text_flush(&file->text);
  int failure = file->text.failure;
  if (close(file->text.descriptor) != 0 && failure == 0) failure = errno;
  if (failure == 0 && rename(fresh, path) == 0) return true;
  if (failure == 0) failure = errno;
  (void)unlink(fresh);
  return status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(failure));
}

static bool write_end_files(const Report *report, const EndFacts *facts, const Plot *plot,
                            Status *status) {
  EndFile file = {.report = report, .name = "summary.json"};
  if (!start_file(&file, status)) return false;
  add_summary(report, facts, &file.text);
  if (!finish_file(&file, status)) return false;
  file.name = "loss.svg";
  if (!start_file(&file, status)) return false;
  plot_svg(plot, &file.text);
  return finish_file(&file, status);
}

/* A closed pipe is not a failure of the run. */
static bool write_document(Text *text, Status *status) {
  return text_flush(text) || text->failure == EPIPE ||
         status_fail(status, STATUS_WORLD, "stdout: cannot be written: %s",
                     strerror(text->failure));
}

bool report_files_close(Report *report, const EndFacts *facts, const Plot *plot, Status *status) {
  Text *text = &report->metrics;
  char path[PATH_BYTES];
  if (close(text->descriptor) != 0 && report->metrics_lost++ == 0)
    report->metrics_failure = errno; /* some file systems report errors only here */
  if (report->metrics_lost > 0)
    text_warn("warning: %s: %lld line%s %s lost: %s", path_of(path, report, "metrics.jsonl", ""),
              (long long)report->metrics_lost, plural(report->metrics_lost),
              report->metrics_lost == 1 ? "was" : "were", strerror(report->metrics_failure));
  if (!write_end_files(report, facts, plot, status)) return false;
  if (!report->setup.json) return true;
  text_start(text, STDOUT_FILENO); /* its file is closed */
  add_summary(report, facts, text);
  return write_document(text, status);
}

void report_failure(const Status *status) {
  Text text;
  text_start(&text, STDOUT_FILENO);
  text_add(&text, "{\"outcome\":\"%s\",\"exit\":%d,\"error\":",
           status->code == STATUS_NOTHING_LEFT ? "nothing-left" : "failed", status->code);
  text_add_json_string(&text, status->text);
  text_add(&text, "}\n");
  (void)text_flush(&text);
}
