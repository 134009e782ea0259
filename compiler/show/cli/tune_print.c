/* tune_print.c -- the answer of tune: a ranked table, why the second row is slower, what was left
 * out, the five questions, and the section to paste. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/draft/draft.h"
#include "compiler/search/tree.h"
#include "compiler/show/cli/tune.h"
#include "runtime/plan/plan_job.h"

static Arena *arena_of(const TuneScreen *screen) {
  return screen->all[screen->best].compile->arena;
}

static double ms_of(int64_t ns) {
  return 1e-6 * (double)ns;
}

/* ---- as text */

static void print_head(const TuneScreen *screen, const Tune *tune, FILE *out) {
  Arena *arena = arena_of(screen);
  const Tuned *t = &tune->tuned;
  fprintf(out, "tune     %s on %lld x %s (%s), %s sequences a step\n",
          screen->compiled->draft->train->model_name, (long long)t->cluster.ranks,
          t->cluster.device, t->cluster.name, format_count(arena, t->batch_samples));
  fprintf(out, "looked   at %s settings, %s of them in full\n", format_count(arena, t->seen),
          format_count(arena, t->estimates));
}

static void print_rows(const TuneScreen *screen, const Tune *tune, FILE *out) {
  Arena *arena = arena_of(screen);
  fprintf(out, "\n  %s  memory    step MFU\n", setting_head);
  for (int32_t i = tune->row; i < tune->tuned.row_count; i++) {
    const TuneRow *row = &tune->tuned.row[i];
    fprintf(out, "%-2d%s%8s%8s%3.0f%%%s\n", i - tune->row + 1,
            setting_text(arena, &row->candidate.setting, row->candidate.dp),
            format_bytes(arena, row->estimate.arena_bytes),
            format_seconds(arena, 1e-9 * (double)row->estimate.step_ns), 100 * row->estimate.mfu,
            row->is_proven ? " *" : "");
  }
  fputc('\n', out);
}

/* "row 2    takes 12 ms more than row 1: compute +2.1, bubble +9.9" */
static void print_why(const TuneScreen *screen, const Tune *tune, FILE *out) {
  if (tune->row + 1 >= tune->tuned.row_count) return;
  const Estimate *first = &tune_row(tune)->estimate, *second = &tune_row(tune)[1].estimate;
  Arena *arena = arena_of(screen);
  const char *text = "";
  int64_t rest_ns = second->step_ns - first->step_ns;
  /* Parts of a plan and of an estimate are counted in different ways. */
  for (int32_t i = 0;
       i < ESTIMATE_PARTS && tune_row(tune)->is_proven == tune_row(tune)[1].is_proven; i++) {
    const double more = ms_of(second->part_ns[i] - first->part_ns[i]);
    rest_ns -= second->part_ns[i] - first->part_ns[i];
    if (fabs(more) >= 0.001 * ms_of(first->step_ns))
      text = arena_printf(arena, "%s%s %s %+.4g", text, *text ? "," : ":", estimate_part_words[i],
                          more);
  }
  if (*text && fabs(ms_of(rest_ns)) >= 0.001 * ms_of(first->step_ns))
    text = arena_printf(arena, "%s, other %+.4g", text, ms_of(rest_ns));
  fputs("rows     with * are compiled and proven, the others are estimated. Those\n"
        "         after the first are the fastest others that were estimated\n",
        out);
  fprintf(out, "row 2    takes %.4g ms more than row 1%s\n",
          ms_of(second->step_ns - first->step_ns), text);
}

static void print_cuts(const TuneScreen *screen, const Tune *tune, FILE *out) {
  const char *head = "left out";
  for (int32_t r = 0; r < CUT_RULES; r++) {
    if (tune->tuned.cut[r] == 0) continue;
    fprintf(out, "%-8s %12s  %s\n", head, format_count(arena_of(screen), tune->tuned.cut[r]),
            cut_texts[r]);
    head = "";
  }
}

/* Why a setting that is not in the table may be faster than its first row. */
static void print_doubts(const TuneScreen *screen, const Tune *tune, FILE *out) {
  const Tuned *t = &tune->tuned;
  const TextList limits = tune_limits(arena_of(screen), t);
  for (int32_t i = 0; i < limits.count; i++)
    fprintf(out, "%-8s %s\n", i == 0 ? "limits" : "", limits.at[i]);
  if (tune->row > 0)
    fprintf(out,
            "skipped  %d faster, too large when packed: another setting may be faster than row 1\n",
            tune->row);
}

static const char *number_text(Arena *arena, double number) {
  return number >= 100 ? format_count(arena, (int64_t)(number + 0.5))
                       : arena_printf(arena, "%.3g", number);
}

static void print_nodes(const TuneScreen *screen, FILE *out) {
  Arena *arena = arena_of(screen);
  const double price = screen->compiled->job->set[FIELD_cluster_price]
                           ? screen->compiled->job->cluster.price.value
                           : 0;
  if (screen->count < 2) return;
  fprintf(out, "\nnodes    ranks        step         run  node-hours%s\n",
          price > 0 ? "        cost" : "");
  for (int32_t i = screen->count - 1; i >= 0; i--) {
    const Tune *tune = &screen->all[i];
    if (tune->row < 0) continue;
    const double run_s = tune_seconds(tune);
    const double hours = run_s / 3600 * (double)tune->tuned.cluster.nodes;
    fprintf(out, "%-8lld %5lld %11s %11s %11s", (long long)tune->tuned.cluster.nodes,
            (long long)tune->tuned.cluster.ranks,
            format_seconds(arena, 1e-9 * (double)tune_row(tune)->estimate.step_ns),
            format_seconds(arena, run_s), number_text(arena, hours));
    if (price > 0)
      fprintf(out, " %11s", arena_printf(arena, "$%s", number_text(arena, hours * price)));
    fputs(i == screen->best ? "   <- this goal's\n" : "\n", out);
  }
}

void tune_print(const TuneScreen *screen, FILE *out) {
  const Tune *tune = &screen->all[screen->best];
  const Compiled *compiled = screen->compiled;
  Arena *arena = arena_of(screen);
  if (!screen->options->quiet) {
    print_head(screen, tune, out);
    print_cuts(screen, tune, out);
    print_rows(screen, tune, out);
    print_why(screen, tune, out);
    print_doubts(screen, tune, out);
    fprintf(out, "proof    ok                 the first is compiled: %s of %s a rank\n",
            format_bytes(arena, compiled->draft->arena_bytes),
            format_bytes(arena, compiled->budget_bytes));
    print_nodes(screen, out);
    if (screen->goal == GOAL_DEADLINE && tune_seconds(tune) > screen->deadline_s)
      fprintf(out, "late     no number of nodes up to the job's finishes in %s\n",
              format_seconds(arena, screen->deadline_s));
    fputc('\n', out);
    tune_print_steps(screen, out);
    fputs("\nto paste into the job:\n\n", out);
  }
  fputs(setting_section(arena, tune->job, &tune_row(tune)->candidate.setting), out);
  if (tune->tuned.cluster.nodes != screen->all[0].tuned.cluster.nodes)
    fprintf(out, "  cluster  = { \"%s\", nodes = %lld },\n", tune->job->cluster.head_text,
            (long long)tune->tuned.cluster.nodes);
}

/* ---- the five questions */

static int64_t share_of(double bytes, int64_t budget_bytes) {
  return (int64_t)ceil(bytes / (double)budget_bytes);
}

/* Bytes of one element's optimizer states. */
static int64_t bytes_of_state(const Job *job, const Draft *d) {
  static const int64_t truths[] = {
      [CHOICE_MASTER_FP32] = 4, [CHOICE_MASTER_SPLIT] = 2, [CHOICE_MASTER_NONE] = 0};
  static const int64_t moments[] = {
      [CHOICE_MOMENTS_FP32] = 4, [CHOICE_MOMENTS_BF16] = 2, [CHOICE_MOMENTS_INT8] = 1};
  const bool has_master = d->truth == TRUTH_MASTER || d->truth == TRUTH_SPLIT;
  return (has_master ? truths[job->precision.master] : 0) +
         moments[job->precision.moments] * (d->has_moment2 ? 2 : 1);
}

void tune_print_steps(const TuneScreen *screen, FILE *out) {
  const Compiled *compiled = screen->compiled;
  const Job *job = compiled->job;
  const Draft *d = compiled->draft;
  const Derived *derived = &compiled->derived;
  const Cluster *cluster = &compiled->cluster;
  Arena *arena = arena_of(screen);
  const int64_t params = compiled->parameters;
  const TreeSizes sizes = {.param_bytes =
                               params * dtype_bytes(precision_dtype(job->precision.param)),
                           .grad_bytes = params * dtype_bytes(precision_dtype(job->precision.grad)),
                           .state_bytes = params * bytes_of_state(job, d),
                           .budget_bytes = compiled->budget_bytes,
                           .replicas = cluster->ranks,
                           .devices_of_domain = cluster->devices * cluster->block};
  const double all = (double)(sizes.param_bytes + sizes.grad_bytes + sizes.state_bytes);
  const int64_t devices = share_of(all, compiled->budget_bytes);
  const char *fits = arena_printf(
      arena, "1 fits?       weights, gradients and states are %s, the memory of %s device%s; %s",
      format_bytes(arena, (int64_t)all), format_count(arena, devices), plural(devices),
      tree_texts[tree_leaf(&sizes)]);
  print_wrapped(out, fits, 0, 14, COLUMNS_MOST);
  fprintf(out, "2 fast links? %lld device%s: tp %lld\n", (long long)sizes.devices_of_domain,
          plural(sizes.devices_of_domain), (long long)derived->tp);
  fprintf(out, "3 layers?     %d, both ends of the model included: pp %lld, %s%d a stage\n",
          d->chain_length, (long long)derived->pp,
          d->chain_length % derived->pp == 0 ? "" : "up to ",
          (int)((d->chain_length + derived->pp - 1) / derived->pp));
  const Pipeline *pipeline = draft_pipeline(d);
  fprintf(out, "4 batches?    %lld micro-batch%s of %lld: stages idle %.1f %% of a step\n",
          (long long)derived->accumulation, plural_es(derived->accumulation),
          (long long)job->train.microbatch,
          pipeline == NULL ? 0 : 100 * pipeline_bubble_share(pipeline));
  fprintf(out, "5 the rest?   %lld rank%s / (tp %lld x cp %lld x pp %lld) = dp %lld, zero %lld\n",
          (long long)cluster->ranks, plural(cluster->ranks), (long long)derived->tp,
          (long long)derived->cp, (long long)derived->pp, (long long)derived->dp,
          (long long)derived->zero);
}

/* ---- as JSON */

static void print_row_json(const TuneScreen *screen, const TuneRow *row, FILE *out) {
  const Setting *s = &row->candidate.setting;
  Arena *arena = arena_of(screen);
  fprintf(
      out,
      "{\"tp\":%lld,\"cp\":%lld,\"pp\":%lld,\"dp\":%lld,\"pipeline\":\"%s\",\"chunks\":%lld,"
      "\"microbatch\":%lld,\"zero\":%lld,\"zero_group\":%s,\"regather\":%s,\"recompute\":\"%s\","
      "\"live\":%lld,\"arena\":%lld,\"step_ns\":%lld,\"least_ns\":%lld,\"mfu\":%.6f,\"proven\":%s,"
      "\"parts\":{",
      (long long)s->tp, (long long)s->cp, (long long)s->pp, (long long)row->candidate.dp,
      s->pp > 1 ? pipe_rules[s->pipeline].word : "none", (long long)s->chunks,
      (long long)s->microbatch, (long long)s->zero, s->groups_are_nodes ? "\"node\"" : "null",
      s->regather ? "true" : "false", recompute_word(arena, s->recompute),
      (long long)row->estimate.live_bytes, (long long)row->estimate.arena_bytes,
      (long long)row->estimate.step_ns, (long long)row->candidate.least_ns, row->estimate.mfu,
      row->is_proven ? "true" : "false");
  for (int32_t i = 0; i < ESTIMATE_PARTS; i++)
    fprintf(out, "%s\"%s\":%lld", i > 0 ? "," : "", estimate_part_words[i],
            (long long)row->estimate.part_ns[i]);
  fputs("}}", out);
}

void tune_print_json(const TuneScreen *screen, FILE *out) {
  const Tune *tune = &screen->all[screen->best];
  const Tuned *t = &tune->tuned;
  const TextList options =
      setting_options(arena_of(screen), tune->job, &tune_row(tune)->candidate.setting);
  fprintf(out, "{\"version\":1,\"nodes\":%lld,\"ranks\":%lld,\"budget\":%lld,\"arena\":%lld,\n",
          (long long)t->cluster.nodes, (long long)t->cluster.ranks, (long long)t->budget_bytes,
          (long long)screen->compiled->draft->arena_bytes);
  fprintf(out, " \"run_s\":%.6g,\"options\":[", tune_seconds(tune));
  for (int32_t i = 0; i < options.count; i++) {
    if (i > 0) fputc(',', out);
    print_json_text(options.at[i], out);
  }
  fprintf(out,
          "],\n \"seen\":%lld,\"estimated\":%lld,\"proven\":%d,\"off\":[%.4f,%.4f],\"left_out\":{",
          (long long)t->seen, (long long)t->estimates, t->proven, t->off_least, t->off_most);
  for (int32_t r = 0; r < CUT_RULES; r++)
    fprintf(out, "%s\"%s\":%lld", r > 0 ? "," : "", cut_words[r], (long long)t->cut[r]);
  fputs("},\n \"rows\":[", out);
  for (int32_t i = tune->row; i < t->row_count; i++) {
    if (i > tune->row) fputs(",\n  ", out);
    print_row_json(screen, &t->row[i], out);
  }
  fputs("],\n \"front\":[", out);
  for (int32_t i = 0; i < t->front_count; i++) {
    if (i > 0) fputs(",\n  ", out);
    print_row_json(screen, &t->front[i], out);
  }
  fputs("]}\n", out);
}
