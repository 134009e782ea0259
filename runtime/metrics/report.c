/* report.c -- the lines of a run. */
#include "runtime/metrics/report.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/metrics/cost.h"
#include "runtime/metrics/files.h"
#include "runtime/plan/plan_job.h"
#include "runtime/process/plural.h"

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static double step_tokens(const Report *report) {
  return (double)job_batch_samples(report->setup.plan) *
         (double)job_sample_tokens(report->setup.plan);
}

static bool is_table(const Report *report) {
  return job_data(report->setup.plan) == DATA_TABLE;
}

static const char *token_word(const Report *report) {
  return is_table(report) ? "samples" : "tok";
}

/* Writes `line`. After the reader has gone away no more lines are tried; on a full disk the next
 * one may fit again. */
static void say(Report *report) {
  Text *line = &report->line;
  if (text_flush(line) || line->failure == EPIPE) return;
  if (!report->line_is_lost)
    text_warn("warning: lines of this run cannot be written to %s: %s",
              report->setup.json ? "stderr" : "stdout", strerror(line->failure));
  report->line_is_lost = true;
  text_start_screen(line, line->descriptor);
}

static bool knows_utilisation(const Report *report) {
  return report->setup.peak_flops_per_s > 0 && job_flops_per_token(report->setup.plan) > 0;
}

static double utilisation(const Report *report, double tokens_per_s) {
  if (!knows_utilisation(report)) return NAN;
  double flops = tokens_per_s * (double)job_flops_per_token(report->setup.plan);
  return flops / report->setup.peak_flops_per_s;
}

/* Prints what a step reads. */
static void banner_data(Report *report) {
  const ReportSetup *setup = &report->setup;
  char a[QUANTITY_BYTES], b[QUANTITY_BYTES];
  Text *line = &report->line;
  text_add(line, "batch    %lld %s%s = dp %d x microbatch %lld x accumulation %lld\n",
           (long long)job_batch_samples(setup->plan), is_table(report) ? "sample" : "sequence",
           plural(job_batch_samples(setup->plan)), setup->replicas,
           (long long)job_microbatch_samples(setup->plan),
           (long long)job_accumulation(setup->plan));
  if (setup->train_tokens > 0)
    text_add(line, "data     %s tokens, %.2f epochs in %lld step%s of %s\n",
             text_grouped(a, setup->train_tokens),
             (double)job_steps(setup->plan) * step_tokens(report) / (double)setup->train_tokens,
             (long long)job_steps(setup->plan), plural(job_steps(setup->plan)),
             text_grouped(b, (int64_t)step_tokens(report)));
  else
    text_add(line, "data     %s %s%s in %lld step%s\n",
             text_grouped(a, (int64_t)((double)job_steps(setup->plan) * step_tokens(report))),
             is_table(report) ? "sample" : "token",
             plural((int64_t)((double)job_steps(setup->plan) * step_tokens(report))),
             (long long)job_steps(setup->plan), plural(job_steps(setup->plan)));
  if (setup->unigram > 0)
    text_add(line, "unigram  entropy of the tokens %.3f nats\n", setup->unigram);
}

/* Continues the line of the ranks. */
static void banner_cores(Report *report) {
  const ReportSetup *setup = &report->setup;
  Text *line = &report->line;
  if (*setup->cores)
    text_add(line, setup->ranks > 1 ? ", rank 0 on cores %s" : ", on cores %s", setup->cores);
  if (setup->cores_wanted > setup->cores_allowed)
    text_add(line, "\ncores    %d threads share %d: slower than planned, with the same numbers",
             setup->cores_wanted, setup->cores_allowed);
}

static void banner_refused(Report *report) {
  const ReportSetup *setup = &report->setup;
  if (setup->refused[0])
    text_add(&report->line, "products %s and not %s:\n         %s\n", setup->products[1],
             setup->refused[0], setup->refused[1]);
}

static void banner(Report *report, const char *metrics_moved_to) {
  const ReportSetup *setup = &report->setup;
  const Plan *plan = setup->plan;
  char a[QUANTITY_BYTES], b[QUANTITY_BYTES];
  Text *line = &report->line;
  text_add(line, "job      %s   plan %016llx\nmodel    %s, %s parameters, %s\n", job_name(plan),
           (unsigned long long)plan->id, job_model(plan), text_grouped(a, job_parameters(plan)),
           job_precision(plan));
  banner_data(report);
  if (setup->gpu != NULL)
    text_add(line, "on       GPUs, of rank 0 %s, %s%s%s%s\n", setup->gpu->id.name,
             setup->gpu->id.uuid, *setup->gpu->id.pci ? " at " : "", setup->gpu->id.pci,
             setup->is_deterministic ? ", deterministic" : "");
  else if (job_target(plan) != TARGET_CPU)
    text_add(line, "on       this machine's processors, slowly: the plan is for %s\n",
             job_device(plan));
  text_add(line, "ranks    %d x %u thread%s, %s kernels", setup->ranks, job_threads(plan),
           plural(job_threads(plan)), setup->kernels);
  banner_cores(report);
  text_add(line, "\nmemory   %s", text_bytes(a, (double)setup->arena_bytes / setup->ranks));
  text_add(line, setup->ranks > 1 ? " a rank, %s in all\n" : "\n",
           text_bytes(b, (double)setup->arena_bytes));
  banner_refused(report);
  if (setup->peak_flops_per_s > 0 && setup->peak_size == 0)
    text_add(line, "peak     %sFLOP/s in %s of all ranks, by the table of %s\n",
             text_count(a, setup->peak_flops_per_s), job_precision(plan), job_device(plan));
  else if (setup->peak_flops_per_s > 0)
    text_add(line, "peak     %sFLOP/s measured: linear %d x %d x %d in %s on all ranks\n",
             text_count(a, setup->peak_flops_per_s), setup->peak_size, setup->peak_size,
             setup->peak_size, job_precision(plan));
  const double step_s = expected_step_s(setup);
  if (step_s > 0) {
    const double steps = (double)(setup->last_step - setup->first_step + 1);
    text_add(line, "expected %s a step, %s left\n", text_duration(a, step_s),
             text_duration(b, step_s * steps));
  }
  if (*metrics_moved_to) text_add(line, "kept     earlier metrics in %s\n", metrics_moved_to);
  if (setup->resumed_from)
    text_add(line, "resume   step %lld, from %s\n", (long long)(setup->first_step - 1),
             setup->resumed_from);
  say(report);
}

bool report_open(Report *report, const ReportSetup *setup, Status *status) {
  memset(report, 0, sizeof *report);
  report->setup = *setup;
  report->last_valid = report->last_loss = NAN;
  report->losses = plan_losses(setup->plan);
  text_start_screen(&report->line, setup->json ? STDERR_FILENO : STDOUT_FILENO);
  curve_start(&report->train);
  curve_start(&report->valid);
  History history = {.train = &report->train, .valid = &report->valid};
  if (!report_files_open(report, &history, status)) return false;
  report->best_valid = history.best_valid;
  if (!setup->quiet) banner(report, history.moved_to);
  report->start_ns = now_ns();
  return true;
}

/* Six characters for any loss of usual size. */
static void add_loss(Text *line, double loss) {
  double size = fabs(loss);
  if (isnan(loss))
    text_add(line, "  loss      -");
  else if (size < 1000)
    text_add(line, "  loss %.*f", size < 10 ? 4 : size < 100 ? 3 : 2, loss);
  else
    text_add(line, "  loss %.3g", loss);
}

/* A line below that of a step: the mean of each loss, without its weight. Fits 80 columns. */
static void add_losses(Report *report, const LossSums *sums) {
  enum { COLUMNS = 80, NUMBER_BYTES = 24 };
  Text *line = &report->line;
  size_t first = line->length;
  if (!losses_are_told(&report->losses)) return;
  for (int32_t i = 0; i < report->losses.count; i++) {
    char number[NUMBER_BYTES] = "-";
    const char *name = report->losses.at[i].name;
    const double mean = loss_mean(sums, i);
    if (!isnan(mean)) (void)snprintf(number, sizeof number, "%.5g", mean);
    if (line->length > first &&
        line->length - first + strlen(name) + strlen(number) + 3 > COLUMNS) {
      text_add(line, "\n");
      first = line->length;
    }
    text_add(line, line->length == first ? "      %s %s" : "  %s %s", name, number);
  }
  text_add(line, "\n");
}

/* Two significant digits in five characters. */
static void add_norm(Text *line, double norm) {
  if (norm >= 9.95 && norm < 99999)
    text_add(line, "  |g| %.0f", norm);
  else if (norm >= 0.00995 && norm < 10)
    text_add(line, "  |g| %#.2g", norm);
  else
    text_add(line, "  |g| %.0e", norm);
}

/* "step" and "valid" lines are aligned. */
static void add_step(Report *report, const char *what, int64_t step) {
  char last[QUANTITY_BYTES];
  int digits = snprintf(last, sizeof last, "%lld", (long long)job_steps(report->setup.plan));
  text_add(&report->line, "%-5s %*lld", what, digits, (long long)step);
}

/* Fits 80 columns: MFU is left out if the line would be too long. */
static void step_line(Report *report, const StepFacts *facts) {
  enum { COLUMNS = 80, LEFT_COLUMNS = 7, MFU_COLUMNS = 10 };
  const ReportSetup *setup = &report->setup;
  double mean_ns = (double)report->window_ns / (double)report->window_steps;
  double tokens_per_s = step_tokens(report) / mean_ns * 1e9;
  char rate[QUANTITY_BYTES], left[QUANTITY_BYTES];
  Text *line = &report->line;
  add_step(report, "step", facts->step);
  add_loss(line, loss_total(&report->losses, &facts->losses));
  add_norm(line, facts->grad_norm);
  (void)text_count(rate, tokens_per_s);
  text_add(line, "  lr %.1e  %s %s/s", facts->lr, text_squeeze(rate), token_word(report));
  (void)text_duration(left, (double)(setup->last_step - facts->step) * mean_ns / 1e9);
  text_squeeze(left);
  if (knows_utilisation(report) &&
      line->length + MFU_COLUMNS + LEFT_COLUMNS + strlen(left) <= COLUMNS)
    text_add(line, "  MFU %.0f%%", 100.0 * utilisation(report, tokens_per_s));
  text_add(line, "  left %s\n", left);
  add_losses(report, &facts->losses);
  say(report);
}

void report_note(Report *report, const char *format, ...) {
  char note[STATUS_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(note, sizeof note, format, list);
  va_end(list);
  if (report->setup.quiet) return;
  text_add(&report->line, "%s\n", note);
  say(report);
}

void report_save(Report *report, const SaveFacts *facts) {
  char beside[96] = "", late[96] = "";
  if (facts->stall_ns < facts->write_ns)
    (void)snprintf(beside, sizeof beside, " beside the steps, which waited %.0f ms",
                   (double)facts->stall_ns / 1e6);
  if (facts->put_off > 0)
    (void)snprintf(late, sizeof late, "; due after step %lld, while another was written",
                   (long long)facts->put_off);
  report_note(report, "saved    %s   %.0f ms%s%s", facts->path, (double)facts->write_ns / 1e6,
              beside, late);
  report_files_save(report, facts);
}

void report_save_failed(Report *report, int64_t step, const char *why) {
  text_warn("warning: the state after step %lld is not saved: %s", (long long)step, why);
  report_files_save_failed(report, step, why);
}

/* Only the first one is reported; the summary counts them. */
static void note_empty(Report *report, int64_t step) {
  if (report->empty_steps++ > 0) return;
  report_note(report, "note     step %lld has no target that counts (all are below 0): no update",
              (long long)step);
}

/* Notes the first step in which one of several losses has no target, and counts all of them. */
static void note_lacking(Report *report, const StepFacts *facts) {
  for (int32_t i = 0; i < report->losses.count; i++)
    if (facts->losses.count[i] <= 0 && report->lacking[i]++ == 0)
      report_note(
          report,
          "note     step %lld: no target of loss '%s' counts (all are below 0): its term is "
          "0",
          (long long)facts->step, report->losses.at[i].name);
}

/* Warns when more than a hundredth of a thousand steps was lost. */
static void count_skip(Report *report, const StepFacts *facts) {
  enum { COUNTED = 1000, MOST = COUNTED / 100 };
  report->skipped_steps += facts->skipped;
  report->counted_skips += facts->skipped;
  if (++report->counted_steps < COUNTED) return;
  if (report->counted_skips > MOST)
    text_warn(
        "warning: %lld of the %d steps up to step %lld overflowed and made no update: a lower "
        "optimizer.lr, a longer precision.loss_scale.window, or precision = \"bf16\"",
        (long long)report->counted_skips, (int)COUNTED, (long long)facts->step);
  report->counted_steps = report->counted_skips = 0;
}

static void skip_line(Report *report, const StepFacts *facts) {
  Text *line = &report->line;
  add_step(report, "step", facts->step);
  text_add(line, "  skipped: overflow, scale %.9g", facts->loss_scale);
  if (facts->next_scale != facts->loss_scale)
    text_add(line, " -> %.9g\n", facts->next_scale);
  else
    text_add(line, " stays\n");
  say(report);
}

void report_step(Report *report, const StepFacts *facts) {
  const ReportSetup *setup = &report->setup;
  count_skip(report, facts);
  if (facts->skipped && !setup->quiet) skip_line(report, facts);
  const double loss = loss_total(&report->losses, &facts->losses);
  if (isnan(loss) && !facts->skipped)
    note_empty(report, facts->step);
  else if (isfinite(loss)) {
    curve_add(&report->train, (double)facts->step, loss);
    report->last_loss = loss;
    report->last_losses = facts->losses;
    note_lacking(report, facts);
  }
  report->window_ns += facts->step_ns;
  report->window_steps++;
  report->steps++;
  report->steps_ns += facts->step_ns;
  report->wait_ns += facts->data_wait_ns;
  report->comm_bytes += facts->comm_bytes;
  double tokens_per_s = step_tokens(report) / (double)facts->step_ns * 1e9;
  report_files_step(report, facts, tokens_per_s, utilisation(report, tokens_per_s));
  int64_t every = job_log_every(setup->plan) > 0 ? job_log_every(setup->plan) : 1;
  bool shown = facts->step % every == 0 || facts->step == setup->first_step ||
               facts->step == setup->last_step;
  if (!shown) return;
  if (!setup->quiet && !facts->skipped) step_line(report, facts);
  report->window_ns = report->window_steps = 0;
}

/* The entropy that the loss is compared with; 0: a sum of losses is no number of nats a token. */
static double compared_unigram(const Report *report) {
  return losses_are_told(&report->losses) ? 0 : report->setup.unigram;
}

void report_valid(Report *report, int64_t step, const LossSums *losses) {
  const double loss = loss_total(&report->losses, losses);
  report->last_valid_losses = *losses;
  curve_add(&report->valid, (double)step, loss);
  report->last_valid = loss;
  if (loss < report->best_valid) report->best_valid = loss;
  report_files_valid(report, step, losses);
  if (report->setup.quiet) return;
  add_step(report, "valid", step);
  add_loss(&report->line, loss);
  if (compared_unigram(report) > 0)
    text_add(&report->line, "  nats a token (unigram %.3f)", compared_unigram(report));
  text_add(&report->line, "\n");
  add_losses(report, losses);
  say(report);
}

static void summary_lines(Report *report, const EndFacts *facts) {
  Text *line = &report->line;
  char a[QUANTITY_BYTES], b[QUANTITY_BYTES];
  double time_s = report->held_s;
  double steps_s = (double)report->steps_ns / 1e9;
  double tokens_per_s = steps_s > 0 ? step_tokens(report) * (double)report->steps / steps_s : 0.0;
  text_add(line, "%-8s %lld step%s in %s", facts->stopped ? "stopped" : "done",
           (long long)report->steps, plural(report->steps), text_duration(a, time_s));
  if (isfinite(report->last_loss)) text_add(line, "   loss %.4f", report->last_loss);
  if (isfinite(report->last_valid))
    text_add(line, "   valid %.4f (best %.4f)", report->last_valid, report->best_valid);
  if (report->empty_steps > 0)
    text_add(line, "\nempty    %lld of the steps had no target that counts, and made no update",
             (long long)report->empty_steps);
  for (int32_t i = 0; i < report->losses.count; i++)
    if (report->lacking[i] > 0)
      text_add(line, "\nlacking  %lld of the steps had no target of loss '%s'",
               (long long)report->lacking[i], report->losses.at[i].name);
  if (report->skipped_steps > 0)
    text_add(line, "\nskipped  %lld of the steps overflowed, and made no update",
             (long long)report->skipped_steps);
  text_add(line, "\nspeed    %s %s/s", text_count(a, tokens_per_s), token_word(report));
  if (knows_utilisation(report))
    text_add(line, "   MFU %.1f %% of the %s peak, by the model's FLOPs",
             100.0 * utilisation(report, tokens_per_s),
             report->setup.peak_size > 0 ? "measured" : "device's");
  text_add(line, "\nwaited   %.1f %% of the time for data   sent %s a rank and step\n",
           steps_s > 0 ? 100.0 * (double)report->wait_ns / (double)report->steps_ns : 0.0,
           text_bytes(b, report->steps ? (double)report->comm_bytes / (double)report->steps : 0.0));
  text_add(line, "memory   %s bytes planned, %s addressed",
           text_grouped(a, (int64_t)facts->planned_bytes),
           text_grouped(b, (int64_t)facts->addressed_bytes));
  if (facts->touched_bytes > 0)
    text_add(line, ", %s in touched pages", text_grouped(a, (int64_t)facts->touched_bytes));
  text_add(line, "\n");
  if (facts->gpu_outside_bytes >= 0)
    text_add(line,
             "outside  %s of rank 0's GPU in use beside the arena: CUDA, NCCL, other programs\n",
             text_bytes(a, (double)facts->gpu_outside_bytes));
  text_add(line, "process  %s resident at most\n", text_bytes(a, (double)report_resident_bytes()));
  RunCost cost = cost_of(&report->setup, time_s);
  bool has_gpus = isfinite(cost.gpu_hours);
  text_add(line, "cost     %.3g %s-hours, %.3g node-hours",
           has_gpus ? cost.gpu_hours : cost.core_hours, has_gpus ? "GPU" : "core", cost.node_hours);
  text_add(line, isfinite(cost.dollars) ? ", $%.2f\n" : "\n", cost.dollars);
  text_add(line, "wrote    %s/{metrics.jsonl,summary.json,loss.svg}\n",
           job_run_dir(report->setup.plan));
  text_add(line, "state    %s\n",
           facts->checkpoint ? facts->checkpoint : "not saved: checkpoint.every is \"never\"");
  say(report);
}

bool report_close(Report *report, const EndFacts *facts, Status *status) {
  const Plan *plan = report->setup.plan;
  Plot plot = {job_name(plan), "loss", &report->train, &report->valid, compared_unigram(report)};
  report->held_s = (double)(now_ns() - report->start_ns) / 1e9;
  if (!report->setup.quiet && report->setup.plot) plot_terminal(&plot, &report->line);
  if (!report->setup.quiet) summary_lines(report, facts);
  return report_files_close(report, facts, &plot, status);
}
