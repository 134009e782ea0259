/* parts.c -- where the simulated time of a step goes, on the stage that takes longest, and what
 * share of the peak the model's FLOPs are. */
#include <math.h>
#include <string.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/show/explain/words.h"

enum { TEXT_BYTES = 256 };

/* The train step that takes longest; NULL: no time is predicted. */
static const PlanProgram *longest_step(const Compiled *compiled) {
  const PlanProgram *longest = NULL;
  for (uint32_t i = 0; i < compiled->plan.classes_count; i++) {
    const PlanProgram *step =
        plan_program(&compiled->plan, &compiled->plan.classes[i], PROGRAM_TRAIN_STEP);
    if (step == NULL || step->predicted_ns <= 0) continue;
    if (longest == NULL || step->predicted_ns > longest->predicted_ns) longest = step;
  }
  return longest;
}

static const char *part_word(const Plan *plan, const PlanPart *part) {
  if (part->kind == PART_COMPUTE) return "compute";
  if (part->kind == PART_BUBBLE) return "bubble";
  return part->axis == PLAN_NONE ? "several" : plan_string(plan, plan->axes[part->axis].name);
}

/* FLOPs of the model, without recomputation, with half the scores of causal attention. */
static double mfu_of(const Compiled *compiled) {
  const Derived *d = &compiled->derived;
  double flops = (double)compiled->flops_per_token * (double)(d->batch_samples * d->sample_tokens);
  double peak = cost_peak(compiled->draft) * (double)rank_count(compiled);
  double seconds = step_seconds(compiled);
  return peak > 0 && seconds > 0 ? flops / peak / seconds : NAN;
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
  if (isfinite(mfu_of(compiled)))
    put_line(out, "mfu",
             arena_printf(
                 compiled->draft->compile->arena, "%-18s of the peak, if all runs at it",
                 arena_printf(compiled->draft->compile->arena, "%.1f %%", 100 * mfu_of(compiled))));
}

void print_parts_json(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  const PlanProgram *step = longest_step(compiled);
  int64_t compute_ns = 0, bubble_ns = 0;
  const char *comma = "";
  if (step == NULL) {
    fputs(" \"parts\":null,\"mfu\":null,\n", out);
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
  fprintf(out, "},\"compute_ns\":%lld,\"bubble_ns\":%lld,\"other_ns\":%lld},\"mfu\":",
          (long long)compute_ns, (long long)bubble_ns, (long long)unnamed_ns(plan, step));
  if (isfinite(mfu_of(compiled)))
    fprintf(out, "%.4f,\n", mfu_of(compiled));
  else
    fputs("null,\n", out);
}
