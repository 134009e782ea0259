/* report.c -- the lines of a run. */
#include "runtime/metrics/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/metrics/files.h"

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static double step_tokens(const Report *report) {
  const PlanJob *job = &report->setup.plan->jobs[0];
  return (double)job->batch_samples * (double)job->sample_tokens;
}

static const char *token_word(const Report *report) {
  return report->setup.plan->jobs[0].data == DATA_TABLE ? "rows" : "tok";
}

static bool knows_utilisation(const Report *report) {
  return report->setup.peak_flops_per_s > 0 && report->setup.plan->jobs[0].flops_per_token > 0;
}

static double utilisation(const Report *report, double tokens_per_s) {
  if (!knows_utilisation(report)) return NAN;
  double flops = tokens_per_s * (double)report->setup.plan->jobs[0].flops_per_token;
  return flops / report->setup.peak_flops_per_s;
}

static void banner(Report *report) {
  const ReportSetup *setup = &report->setup;
  const Plan *plan = setup->plan;
  const PlanJob *job = &plan->jobs[0];
  char a[QUANTITY_BYTES], b[QUANTITY_BYTES];
  Text *line = &report->line;
  text_add(line, "job      %s   plan %016llx   %s, %s parameters, %s\n",
           plan_string(plan, job->name), (unsigned long long)plan->id,
           plan_string(plan, job->model), text_grouped(a, job->parameters),
           plan_string(plan, job->precision));
  text_add(line, "batch    %lld %s = dp %d x microbatch %lld x accumulation %lld",
           (long long)job->batch_samples, job->data == DATA_TABLE ? "rows" : "sequences",
           setup->replicas, (long long)job->microbatch_samples, (long long)job->accumulation);
  if (job->data != DATA_TABLE)
    text_add(line, "   %s tokens a step", text_grouped(a, (int64_t)step_tokens(report)));
  text_add(line, "\nranks    %d x %u thread%s, %s kernels   memory %s", setup->ranks, job->threads,
           job->threads == 1 ? "" : "s", setup->kernels,
           text_bytes(a, (double)setup->arena_bytes / setup->ranks));
  text_add(line, setup->ranks > 1 ? " each, %s in all\n" : "\n",
           text_bytes(b, (double)setup->arena_bytes));
  if (setup->peak_flops_per_s > 0)
    text_add(line, "peak     %sFLOP/s measured: linear %d x %d x %d in %s on all ranks\n",
             text_count(a, setup->peak_flops_per_s), setup->peak_size, setup->peak_size,
             setup->peak_size, plan_string(plan, job->precision));
  if (setup->train_tokens > 0) {
    text_add(line, "data     %s tokens, %.2f epochs in %lld steps",
             text_grouped(a, setup->train_tokens),
             (double)job->steps * step_tokens(report) / (double)setup->train_tokens,
             (long long)job->steps);
    if (setup->unigram > 0) text_add(line, ", unigram entropy %.3f nats a token", setup->unigram);
    text_add(line, "\n");
  }
  if (setup->resumed_from)
    text_add(line, "resume   step %lld, from %s\n", (long long)(setup->first_step - 1),
             setup->resumed_from);
  (void)text_flush(line);
}

bool report_open(Report *report, const ReportSetup *setup, Status *status) {
  memset(report, 0, sizeof *report);
  report->setup = *setup;
  report->best_valid = INFINITY;
  report->last_valid = report->last_loss = NAN;
  text_start(&report->line, STDERR_FILENO);
  curve_start(&report->train);
  curve_start(&report->valid);
  if (!report_files_open(report, status)) return false;
  if (!setup->quiet) banner(report);
  report->start_ns = now_ns();
  return true;
}

static void step_line(Report *report, const StepFacts *facts) {
  const ReportSetup *setup = &report->setup;
  double mean_ns = (double)report->window_ns / (double)report->window_steps;
  double tokens_per_s = step_tokens(report) / mean_ns * 1e9;
  char rate[QUANTITY_BYTES], bytes[QUANTITY_BYTES], left[QUANTITY_BYTES];
  Text *line = &report->line;
  text_add(line, "step %4lld/%lld  loss %.4f  |g| %.3g  lr %.2e  %6s %s/s", (long long)facts->step,
           (long long)setup->plan->jobs[0].steps, facts->loss, facts->grad_norm, facts->lr,
           text_count(rate, tokens_per_s), token_word(report));
  if (knows_utilisation(report))
    text_add(line, "  MFU %.0f %%", 100.0 * utilisation(report, tokens_per_s));
  text_add(line, mean_ns < 1e7 ? "  %.1f ms" : "  %.0f ms", mean_ns / 1e6);
  text_add(line, "  %s  left %s\n", text_bytes(bytes, (double)setup->arena_bytes),
           text_duration(left, (double)(setup->last_step - facts->step) * mean_ns / 1e9));
  (void)text_flush(line);
}

void report_step(Report *report, const StepFacts *facts) {
  const ReportSetup *setup = &report->setup;
  curve_add(&report->train, (double)facts->step, facts->loss);
  report->last_loss = facts->loss;
  report->window_ns += facts->step_ns;
  report->window_steps++;
  report->steps++;
  report->steps_ns += facts->step_ns;
  report->wait_ns += facts->data_wait_ns;
  report->comm_bytes += facts->comm_bytes;
  double tokens_per_s = step_tokens(report) / (double)facts->step_ns * 1e9;
  report_files_step(report, facts, tokens_per_s, utilisation(report, tokens_per_s));
  int64_t every = setup->plan->jobs[0].log_every > 0 ? setup->plan->jobs[0].log_every : 1;
  bool shown = facts->step % every == 0 || facts->step == setup->first_step ||
               facts->step == setup->last_step;
  if (!shown) return;
  if (!setup->quiet) step_line(report, facts);
  report->window_ns = report->window_steps = 0;
}

void report_valid(Report *report, int64_t step, double loss) {
  curve_add(&report->valid, (double)step, loss);
  report->last_valid = loss;
  if (loss < report->best_valid) report->best_valid = loss;
  report_files_valid(report, step, loss);
  if (report->setup.quiet) return;
  text_add(&report->line, "valid %3lld  %*sloss %.4f", (long long)step, 5, "", loss);
  if (report->setup.unigram > 0)
    text_add(&report->line, "  nats a token (unigram %.3f)", report->setup.unigram);
  text_add(&report->line, "\n");
  (void)text_flush(&report->line);
}

void report_note(Report *report, const char *format, ...) {
  char note[STATUS_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(note, sizeof note, format, list);
  va_end(list);
  if (report->setup.quiet) return;
  text_add(&report->line, "%s\n", note);
  (void)text_flush(&report->line);
}

static void summary_lines(Report *report, const EndFacts *facts) {
  Text *line = &report->line;
  char a[QUANTITY_BYTES], b[QUANTITY_BYTES], c[QUANTITY_BYTES];
  double time_s = (double)(now_ns() - report->start_ns) / 1e9;
  double steps_s = (double)report->steps_ns / 1e9;
  double tokens_per_s = steps_s > 0 ? step_tokens(report) * (double)report->steps / steps_s : 0.0;
  text_add(line, "%-8s %lld steps in %s", facts->outcome, (long long)report->steps,
           text_duration(a, time_s));
  if (isfinite(report->last_loss)) text_add(line, "   loss %.4f", report->last_loss);
  if (isfinite(report->last_valid))
    text_add(line, "   validation %.4f (best %.4f)", report->last_valid, report->best_valid);
  text_add(line, "\nspeed    %s %s/s", text_count(a, tokens_per_s), token_word(report));
  if (knows_utilisation(report))
    text_add(line, "   MFU %.1f %% of the measured peak",
             100.0 * utilisation(report, tokens_per_s));
  text_add(line, "   waited for data %.1f %%   sent %s a rank and step\n",
           steps_s > 0 ? 100.0 * (double)report->wait_ns / (double)report->steps_ns : 0.0,
           text_bytes(b, report->steps ? (double)report->comm_bytes / (double)report->steps : 0.0));
  text_add(line, "memory   %s bytes planned, %s used: %lld apart   process %s\n",
           text_grouped(a, (int64_t)facts->planned_bytes),
           text_grouped(b, (int64_t)facts->measured_bytes),
           (long long)(facts->measured_bytes - facts->planned_bytes),
           text_bytes(c, (double)report_resident_bytes()));
  const PlanJob *job = &report->setup.plan->jobs[0];
  text_add(line, "wrote    %s/{metrics.jsonl,summary.json,loss.svg}",
           plan_string(report->setup.plan, job->run_dir));
  if (facts->checkpoint) text_add(line, "   %s", facts->checkpoint);
  text_add(line, "\n");
  (void)text_flush(line);
}

bool report_close(Report *report, const EndFacts *facts, Status *status) {
  const Plan *plan = report->setup.plan;
  Plot plot = {plan_string(plan, plan->jobs[0].name), "loss", &report->train, &report->valid,
               report->setup.unigram};
  if (!report->setup.quiet && report->setup.plot) plot_terminal(&plot, &report->line);
  if (!report->setup.quiet) summary_lines(report, facts);
  return report_files_close(report, facts, &plot, status);
}
