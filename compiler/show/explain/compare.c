/* compare.c -- two settings of one job side by side: what a rank holds, what it sends in a step and
 * how long a step takes. Where stages differ, those of the stage that needs most. */
#include <math.h>
#include <string.h>

#include "compiler/draft/cost/breakdown.h"
#include "compiler/show/explain/words.h"
#include "runtime/plan/plan_job.h"

enum { JOB, AGAINST, SIDES };
enum { VALUE = 11 };
enum { PERCENT_MOST = 10000 }; /* above this, a percentage says less than the values */

typedef struct CompareRow {
  const char *head, *name;
  int digits; /* after the point */
  double value[SIDES];
} CompareRow;

/* The rank that needs most memory. */
static uint32_t fullest_class(const Compiled *compiled) {
  const Plan *plan = &compiled->plan;
  uint32_t fullest = 0;
  for (uint32_t i = 1; i < plan->classes_count; i++)
    if (plan_arena_bytes(plan, &plan->classes[i], TIER_DEVICE) >
        plan_arena_bytes(plan, &plan->classes[fullest], TIER_DEVICE))
      fullest = i;
  return fullest;
}

/* Bytes of the largest arena of any class in that tier. */
static int64_t most_in(const Compiled *compiled, Tier tier) {
  const Plan *plan = &compiled->plan;
  int64_t most = 0;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    const int64_t bytes = (int64_t)plan_arena_bytes(plan, &plan->classes[i], tier);
    if (bytes > most) most = bytes;
  }
  return most;
}

static double most_sent(const Compiled *compiled, uint32_t axes_mask) {
  double most = 0;
  for (uint32_t i = 0; i < compiled->plan.classes_count; i++)
    most = fmax(most, class_traffic(compiled, i, axes_mask).sent_bytes);
  return most;
}

static bool fits(const Compiled *compiled) {
  return compiled->proof != NULL;
}

/* Tokens if a sample has several, else samples. */
static double samples_per_s(const Compiled *compiled) {
  const Derived *d = &compiled->derived;
  double seconds = step_seconds(compiled);
  return seconds > 0 ? (double)(d->batch_samples * d->sample_tokens) / seconds : 0;
}

bool explain_take_plan(Compile *c, const Plan *plan, Compiled *out) {
  Draft *facts = ARENA_NEW(c->arena, Draft);
  ProveReport *proof = ARENA_NEW(c->arena, ProveReport); /* compile writes no plan without */
  facts->compile = c;
  *out = (Compiled){.plan = *plan, .draft = facts, .proof = proof};
  if (!plan_has_job(plan) || plan->classes_count == 0) return false;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    const PlanClass *class = &plan->classes[i];
    const int64_t arena_bytes = (int64_t)plan_arena_bytes(plan, class, TIER_DEVICE);
    if (plan_program(plan, class, plan_purpose(plan)) == NULL) return false;
    if (arena_bytes > facts->arena_bytes) facts->arena_bytes = arena_bytes;
  }
  Derived *d = &out->derived;
  int64_t replicas = 1;
  d->dp = d->tp = d->cp = d->pp = 1;
  for (uint32_t i = 0; i < plan->axes_count; i++) {
    const char *name = plan_string(plan, plan->axes[i].name);
    d->dp *= plan->axes[i].size; /* all ranks: only their number is asked for */
    if (strncmp(name, "dp", 2) == 0) replicas *= plan->axes[i].size;
  }
  d->sample_tokens = job_sample_tokens(plan);
  d->batch_samples = job_microbatch_samples(plan) * job_accumulation(plan) * replicas;
  return true;
}

/* ---- as text */

static void print_row(const CompareRow *row, FILE *out) {
  double job = row->value[JOB], against = row->value[AGAINST];
  double most = fmax(fabs(job), fabs(against));
  int digits = row->digits;
  for (double limit = 1000; most >= limit && digits > 0; limit *= 10)
    digits--;
  fprintf(out, "%-8s %-26s %*.*f %*.*f %+*.*f", row->head, row->name, VALUE, digits, job, VALUE,
          digits, against, VALUE, digits, job - against);
  double percent = against != 0 ? 100 * (job / against - 1) : 0;
  if (percent != 0 && percent < PERCENT_MOST) fprintf(out, " %+6.1f%%", percent);
  fputc('\n', out);
}

static void print_memory(const Compiled *const both[SIDES], FILE *out) {
  TierPeak peak[SIDES];
  for (int i = 0; i < SIDES; i++)
    peak[i] = find_peak(both[i], fullest_class(both[i]));
  for (size_t r = 0; r < MEMORY_ROWS_OF_JOBS; r++) {
    CompareRow row = {memory_rows[r].head, memory_rows[r].name, 6, {0}};
    for (int i = 0; i < SIDES; i++)
      row.value[i] = 1e-9 * (double)peak[i].by_kind[memory_rows[r].kind];
    if (row.value[JOB] != 0 || row.value[AGAINST] != 0) print_row(&row, out);
  }
  const bool are_jobs = both[JOB]->job != NULL && both[AGAINST]->job != NULL;
  if (are_jobs && strcmp(recompute_text(both[JOB]), recompute_text(both[AGAINST])) != 0)
    fprintf(out, "%-8s %-26s %*s %*s\n", "", "recompute", VALUE, recompute_text(both[JOB]), VALUE,
            recompute_text(both[AGAINST]));
  CompareRow arena = {"", "arena", 6, {0}}, budget = {"budget", "of a rank", 6, {0}};
  for (int i = 0; i < SIDES; i++) {
    arena.value[i] = 1e-9 * (double)both[i]->draft->arena_bytes;
    budget.value[i] = 1e-9 * (double)both[i]->budget_bytes;
  }
  print_row(&arena, out);
  if (budget.value[JOB] > 0 && budget.value[AGAINST] > 0) print_row(&budget, out);
  if (!fits(both[JOB]) || !fits(both[AGAINST]))
    fprintf(out, "%-35s %*s %*s\n", "", VALUE, fits(both[JOB]) ? "fits" : "too large", VALUE,
            fits(both[AGAINST]) ? "fits" : "too large");
}

/* Memory beside the device's: what has left it, copies of the state that are being saved, and
 * staged samples. */
static void print_far(const Compiled *const both[SIDES], FILE *out) {
  CompareRow rows[] = {{"host", "arena in host memory", 6, {0}}, {"file", "of a rank", 6, {0}}};
  for (int i = 0; i < SIDES; i++) {
    rows[0].value[i] = 1e-9 * (double)most_in(both[i], TIER_HOST);
    rows[1].value[i] = 1e-9 * (double)most_in(both[i], TIER_FILE);
  }
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    if (rows[r].value[JOB] > 0 || rows[r].value[AGAINST] > 0) print_row(&rows[r], out);
}

static bool has_axes(const Plan *plan, uint32_t before, uint32_t axes_mask) {
  for (uint32_t i = 0; i < before; i++)
    if (plan->comms[i].axes_mask == axes_mask) return true;
  return false;
}

/* Plans have the same axes, but perhaps not the same communicators. */
static void print_sent(const Compiled *const both[SIDES], FILE *out) {
  CompareRow all = {"sent", "by a rank in a step", 6, {0}};
  for (int i = 0; i < SIDES; i++)
    all.value[i] = 1e-9 * most_sent(both[i], 0);
  print_row(&all, out);
  for (int side = 0; side < SIDES; side++)
    for (uint32_t k = 0; k < both[side]->plan.comms_count; k++) {
      const Plan *plan = &both[side]->plan, *first = &both[JOB]->plan;
      uint32_t mask = plan->comms[k].axes_mask;
      if (has_axes(plan, k, mask) || (side > 0 && has_axes(first, first->comms_count, mask)))
        continue;
      const char *name = plan_string(plan, plan->comms[k].name);
      CompareRow row = {"", "", 6, {0}};
      row.name = arena_printf(both[JOB]->draft->compile->arena, "over %.*s",
                              (int)strcspn(name, "@"), name);
      for (int i = 0; i < SIDES; i++)
        row.value[i] = 1e-9 * most_sent(both[i], mask);
      if (row.value[JOB] != 0 || row.value[AGAINST] != 0) print_row(&row, out);
    }
}

/* A part of the slowest stage's step, by kind and axis, in milliseconds. */
static double part_ms(const Compiled *compiled, PartKind kind, uint32_t axis) {
  const Plan *plan = &compiled->plan;
  const uint32_t class = longest_class(plan);
  if (class == PLAN_NONE) return 0;
  const PlanProgram *step = plan_program(plan, &plan->classes[class], plan_purpose(plan));
  double ms = 0;
  for (uint32_t i = 0; i < step->parts_count; i++) {
    const PlanPart *part = &plan->parts[step->parts_first + i];
    if (part->kind == (uint32_t)kind && part->axis == axis) ms += 1e-6 * (double)part->predicted_ns;
  }
  return ms;
}

static void print_time_row(const Compiled *const both[SIDES], PartKind kind, uint32_t axis,
                           const char *name, FILE *out) {
  CompareRow row = {"", name, 6, {0}};
  for (int i = 0; i < SIDES; i++)
    row.value[i] = part_ms(both[i], kind, axis);
  if (row.value[JOB] != 0 || row.value[AGAINST] != 0) print_row(&row, out);
}

static void print_times(const Compiled *const both[SIDES], FILE *out) {
  const Plan *plan = &both[JOB]->plan;
  Arena *arena = both[JOB]->draft->compile->arena;
  print_time_row(both, PART_COMPUTE, PLAN_NONE, "compute", out);
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    print_time_row(both, PART_EXPOSED, axis,
                   arena_printf(arena, "exposed %s", plan_string(plan, plan->axes[axis].name)),
                   out);
  print_time_row(both, PART_EXPOSED, PLAN_NONE, "exposed several", out);
  print_time_row(both, PART_BUBBLE, PLAN_NONE, "bubble", out);
  CompareRow offload = {"", "exposed offload", 6, {0}};
  for (int i = 0; i < SIDES; i++)
    offload.value[i] = 1e-6 * (double)offload_exposed_ns(both[i]);
  if (offload.value[JOB] != 0 || offload.value[AGAINST] != 0) print_row(&offload, out);
}

void explain_compare(const Compiled *job, const Compiled *against, const char *changes, FILE *out) {
  const Compiled *const both[SIDES] = {job, against};
  put_line(out, "against", changes);
  fprintf(out, "\n%-35s %*s %*s %*s\n", "GB = 1e9 bytes; a rank at its peak", VALUE, "this job",
          VALUE, "against", VALUE, "difference");
  print_memory(both, out);
  print_far(both, out);
  print_sent(both, out);
  CompareRow step = {"time", "of a step, ms", 6, {0}};
  const bool is_text = job->derived.sample_tokens > 1;
  const bool is_mixed = is_text != (against->derived.sample_tokens > 1);
  CompareRow rate = {"",
                     is_mixed  ? "tokens or samples a second"
                     : is_text ? "tokens a second"
                               : "samples a second",
                     0,
                     {0}};
  CompareRow ranks = {"ranks", "", 0, {(double)rank_count(job), (double)rank_count(against)}};
  for (int i = 0; i < SIDES; i++) {
    step.value[i] = 1e3 * step_seconds(both[i]);
    rate.value[i] = samples_per_s(both[i]);
  }
  if (step.value[JOB] > 0 && step.value[AGAINST] > 0) {
    print_row(&step, out);
    print_times(both, out);
    print_row(&rate, out);
  }
  if (ranks.value[JOB] != ranks.value[AGAINST]) print_row(&ranks, out);
}

bool explain_is_same(const Compiled *job, const Compiled *against) {
  const Plan *plan = &job->plan, *other = &against->plan;
  const bool has_budgets = job->budget_bytes > 0 && against->budget_bytes > 0;
  if (plan->classes_count != other->classes_count || rank_count(job) != rank_count(against) ||
      (has_budgets && job->budget_bytes != against->budget_bytes))
    return false;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    const TierPeak a = find_peak(job, i), b = find_peak(against, i);
    if (a.arena_bytes != b.arena_bytes || a.program->predicted_ns != b.program->predicted_ns ||
        memcmp(a.by_kind, b.by_kind, sizeof a.by_kind) != 0 ||
        class_traffic(job, i, 0).sent_bytes != class_traffic(against, i, 0).sent_bytes)
      return false;
    for (Tier tier = 0; tier < Tier_COUNT; tier++)
      if (plan_arena_bytes(plan, &plan->classes[i], tier) !=
          plan_arena_bytes(other, &other->classes[i], tier))
        return false;
  }
  return true;
}

/* ---- as JSON */

static void print_side(const Compiled *compiled, const char *name, FILE *out) {
  TierPeak peak = find_peak(compiled, fullest_class(compiled));
  fprintf(out, " \"%s\":{\"ranks\":%lld,\"memory\":{\n", name, (long long)rank_count(compiled));
  for (size_t r = 0; r < MEMORY_ROWS_OF_JOBS; r++)
    fprintf(out, "   \"%s\":%lld,\n", memory_rows[r].name,
            (long long)peak.by_kind[memory_rows[r].kind]);
  fprintf(out, "   \"arena\":%lld,\"host_arena\":%lld,\"file_arena\":%lld,",
          (long long)compiled->draft->arena_bytes, (long long)most_in(compiled, TIER_HOST),
          (long long)most_in(compiled, TIER_FILE));
  fprintf(out, "\"budget\":%s,\"fits\":%s},\n",
          compiled->budget_bytes > 0 ? arena_printf(compiled->draft->compile->arena, "%lld",
                                                    (long long)compiled->budget_bytes)
                                     : "null",
          fits(compiled) ? "true" : "false");
  fprintf(out, "  \"compute_ms\":%.6f,\"bubble_ms\":%.6f,\"exposed_ms\":{",
          part_ms(compiled, PART_COMPUTE, PLAN_NONE), part_ms(compiled, PART_BUBBLE, PLAN_NONE));
  for (uint32_t axis = 0; axis < compiled->plan.axes_count; axis++)
    fprintf(out, "\"%s\":%.6f,", plan_string(&compiled->plan, compiled->plan.axes[axis].name),
            part_ms(compiled, PART_EXPOSED, axis));
  fprintf(out, "\"several\":%.6f},\"offload_exposed_ms\":%.6f,\n",
          part_ms(compiled, PART_EXPOSED, PLAN_NONE), 1e-6 * (double)offload_exposed_ns(compiled));
  fprintf(out, "  \"sent_bytes\":%.0f,\"predicted_step_ns\":%lld,\"tokens_per_s\":%.0f}",
          most_sent(compiled, 0), (long long)(step_seconds(compiled) * 1e9),
          samples_per_s(compiled));
}

void explain_compare_json(const Compiled *job, const Compiled *against, FILE *out) {
  fprintf(out, "{\"version\":1,\n");
  print_side(job, "job", out);
  fprintf(out, ",\n");
  print_side(against, "against", out);
  fprintf(out, "}\n");
}
