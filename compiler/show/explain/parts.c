/* parts.c -- where the simulated time of a step goes, on the stage that takes longest, and what
 * share of the peak the model's FLOPs are. */
#include <math.h>
#include <string.h>

#include "compiler/draft/cost/breakdown.h"
#include "compiler/draft/cost/cost.h"
#include "compiler/show/explain/words.h"

enum { TEXT_BYTES = 256 };

static const char *const compute_words[COMPUTE_KINDS] = {
    [COMPUTE_PRODUCTS] = "products",   [COMPUTE_ATTENTION] = "attention", [COMPUTE_LOSS] = "loss",
    [COMPUTE_OPTIMIZER] = "optimizer", [COMPUTE_OTHER] = "memory-bound",
};

/* The train step that takes longest; NULL: no time is predicted. */
static const PlanProgram *longest_step(const Compiled *compiled) {
  const Plan *plan = &compiled->plan;
  const uint32_t class = longest_class(plan);
  return class == PLAN_NONE ? NULL : plan_program(plan, &plan->classes[class], plan_purpose(plan));
}

static const char *part_word(const Plan *plan, const PlanPart *part) {
  if (part->kind == PART_COMPUTE) return "compute";
  if (part->kind == PART_BUBBLE) return "bubble";
  return part->axis == PLAN_NONE ? "several" : plan_string(plan, plan->axes[part->axis].name);
}

static double share_of_peak(const Compiled *compiled, double flops) {
  double peak = cost_peak(compiled->draft) * (double)rank_count(compiled);
  double seconds = step_seconds(compiled);
  return peak > 0 && seconds > 0 ? flops / peak / seconds : NAN;
}

/* FLOPs of the model, without recomputation, with half the scores of causal attention. */
static double mfu_of(const Compiled *compiled) {
  const Derived *d = &compiled->derived;
  double flops = (double)compiled->flops_per_token * (double)(d->batch_samples * d->sample_tokens);
  return share_of_peak(compiled, flops);
}

/* The largest part of the step in one sentence. */
static const char *bound_text(const Compiled *compiled, const PlanProgram *step,
                              const CostBreakdown *breakdown) {
  const Plan *plan = &compiled->plan;
  double most = 0;
  const char *what = "", *how = "";
  for (int i = 0; i < COMPUTE_KINDS; i++)
    if (breakdown->seconds[i] > most) {
      most = breakdown->seconds[i];
      what = compute_words[i];
      how = i == COMPUTE_OTHER ? " kernels" : "";
    }
  for (uint32_t i = 0; i < step->parts_count; i++) {
    const PlanPart *part = &plan->parts[step->parts_first + i];
    const double seconds = (double)part->predicted_ns * 1e-9;
    if (part->kind == PART_COMPUTE || seconds <= most) continue;
    most = seconds;
    what = part_word(plan, part);
    how = part->kind == PART_EXPOSED ? ", communication that nothing hides" : " of the pipeline";
  }
  return arena_printf(compiled->draft->compile->arena, "%s%s: %.0f %% of the step", what, how,
                      100 * most / ((double)step->predicted_ns * 1e-9));
}

static void print_kinds(const Compiled *compiled, const PlanProgram *step,
                        const CostBreakdown *breakdown, FILE *out) {
  char text[TEXT_BYTES] = "", *end = text + sizeof text, *at = text;
  for (int i = 0; i < COMPUTE_KINDS; i++) {
    double percent = 100 * breakdown->seconds[i] / ((double)step->predicted_ns * 1e-9);
    if (percent < 0.05) continue;
    at += snprintf(at, (size_t)(end - at), "%s%s %.*f %%", at == text ? "" : ", ", compute_words[i],
                   percent < 9.95, percent);
  }
  if (at > text) put_line(out, "compute", text);
  put_line(out, "bound", bound_text(compiled, step, breakdown));
}

static int64_t unnamed_ns(const Plan *plan, const PlanProgram *step) {
  int64_t rest = step->predicted_ns;
  for (uint32_t i = 0; i < step->parts_count; i++)
    rest -= plan->parts[step->parts_first + i].predicted_ns;
  return rest > 0 ? rest : 0;
}

void print_parts(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  const PlanProgram *step = longest_step(compiled);
  char text[TEXT_BYTES] = "", *end = text + sizeof text, *at = text;
  bool has_exposed = false;
  if (step == NULL) return;
  for (uint32_t i = 0; i <= step->parts_count; i++) {
    const PlanPart *part = &plan->parts[step->parts_first + i];
    bool is_rest = i == step->parts_count;
    int64_t ns = is_rest ? unnamed_ns(plan, step) : part->predicted_ns;
    double percent = 100 * (double)ns / (double)step->predicted_ns;
    if (percent < 0.05) continue;
    const char *word = is_rest ? "other lanes" : part_word(plan, part);
    bool is_exposed = !is_rest && part->kind == PART_EXPOSED;
    at += snprintf(at, (size_t)(end - at), "%s%s%s %.*f %%", at == text ? "" : ", ",
                   is_exposed && !has_exposed ? "exposed " : "", word, percent < 9.95, percent);
    has_exposed |= is_exposed;
  }
  put_line(out, "parts", text);
  const CostBreakdown breakdown = breakdown_of(compiled->draft->compile->arena, plan);
  Arena *arena = compiled->draft->compile->arena;
  print_kinds(compiled, step, &breakdown, out);
  if (isfinite(mfu_of(compiled)))
    put_line(out, "mfu",
             arena_printf(arena, "%-18s of the peak; HFU %.1f %%, with what is computed again",
                          arena_printf(arena, "%.1f %%", 100 * mfu_of(compiled)),
                          100 * share_of_peak(compiled, breakdown.flops)));
}

void print_parts_json(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  const PlanProgram *step = longest_step(compiled);
  int64_t compute_ns = 0, bubble_ns = 0;
  const char *comma = "";
  if (step == NULL) {
    fputs(" \"parts\":null,\"compute\":null,\"mfu\":null,\"hfu\":null,\n", out);
    return;
  }
  fputs(" \"parts\":{\"exposed_ns\":{", out);
  for (uint32_t i = 0; i < step->parts_count; i++) {
    const PlanPart *part = &plan->parts[step->parts_first + i];
    if (part->kind == PART_COMPUTE) compute_ns += part->predicted_ns;
    if (part->kind == PART_BUBBLE) bubble_ns += part->predicted_ns;
    if (part->kind != PART_EXPOSED) continue;
    fprintf(out, "%s\"%s\":%lld", comma, part_word(plan, part), (long long)part->predicted_ns);
    comma = ",";
  }
  fprintf(out, "},\"compute_ns\":%lld,\"bubble_ns\":%lld,\"other_ns\":%lld},\n \"compute\":{",
          (long long)compute_ns, (long long)bubble_ns, (long long)unnamed_ns(plan, step));
  const CostBreakdown breakdown = breakdown_of(compiled->draft->compile->arena, plan);
  for (int i = 0; i < COMPUTE_KINDS; i++)
    fprintf(out, "%s\"%s_ns\":%.0f", i > 0 ? "," : "", compute_words[i],
            1e9 * breakdown.seconds[i]);
  if (isfinite(mfu_of(compiled)))
    fprintf(out, "},\"mfu\":%.4f,\"hfu\":%.4f,\n", mfu_of(compiled),
            share_of_peak(compiled, breakdown.flops));
  else
    fputs("},\"mfu\":null,\"hfu\":null,\n", out);
}
