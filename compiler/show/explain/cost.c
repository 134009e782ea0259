/* cost.c -- what a run costs, as expected and at least, by the floor of a step: GPU-hours,
 * node-hours, money, and the energy of the GPUs. */
#include <math.h>

#include "compiler/show/explain/words.h"

/* Unknown values are NAN. */
typedef struct PlanCost {
  double gpu_hours, core_hours; /* one of them: those of the ranks */
  double node_hours, dollars;
  double kwh; /* of GPUs that draw what they may */
} PlanCost;

static PlanCost cost_of(const Compiled *compiled, double step_s) {
  const Job *job = compiled->job;
  const Cluster *cluster = &compiled->cluster;
  double hours = step_s * (double)compiled->derived.steps / 3600;
  double ranks = (double)rank_count(compiled);
  if (hours <= 0) return (PlanCost){NAN, NAN, NAN, NAN, NAN};
  bool has_gpus = cluster->target == TARGET_CUDA, is_priced = job->set[FIELD_cluster_price];
  double node_hours = hours * (double)cluster->nodes;
  const double power_w = cluster->sustained.power_w;
  return (PlanCost){
      .gpu_hours = has_gpus ? hours * ranks : NAN,
      .core_hours = has_gpus ? NAN : hours * ranks * (double)cluster->threads,
      .node_hours = node_hours,
      .dollars = is_priced ? node_hours * job->cluster.price.value : NAN,
      .kwh = has_gpus && power_w > 0 ? hours * ranks * power_w / 1e3 : NAN,
  };
}

/* Less is not worth a word. */
static const double LEAST_KWH = 0.1;

static const char *hours_text(Arena *arena, double hours) {
  if (hours >= 1000) return format_count(arena, (int64_t)(hours + 0.5));
  return arena_printf(arena, "%.3g", hours);
}

static const char *dollars_text(Arena *arena, double dollars) {
  if (dollars >= 1000)
    return arena_printf(arena, "$%s", format_count(arena, (int64_t)(dollars + 0.5)));
  return arena_printf(arena, "$%.2f", dollars);
}

void print_cost(const Compiled *compiled, FILE *out) {
  Arena *arena = compiled->draft->compile->arena;
  PlanCost cost = cost_of(compiled, step_seconds(compiled));
  const PlanCost least = cost_of(compiled, floor_seconds(compiled));
  bool is_priced = compiled->job->set[FIELD_cluster_price];
  if (!isfinite(cost.node_hours)) {
    if (is_priced)
      put_line(out, "cost",
               arena_printf(arena, "%s a node and hour; no step time is predicted for %s",
                            dollars_text(arena, compiled->job->cluster.price.value),
                            compiled->cluster.device));
    return;
  }
  bool has_gpus = isfinite(cost.gpu_hours);
  const char *all = arena_printf(arena, "%s %s-hours (at least %s), %s node-hours",
                                 hours_text(arena, has_gpus ? cost.gpu_hours : cost.core_hours),
                                 has_gpus ? "GPU" : "core",
                                 hours_text(arena, has_gpus ? least.gpu_hours : least.core_hours),
                                 hours_text(arena, cost.node_hours));
  if (is_priced) all = arena_printf(arena, "%s, %s", all, dollars_text(arena, cost.dollars));
  if (cost.kwh >= LEAST_KWH)
    all = arena_printf(arena, "%s, %s kWh", all, hours_text(arena, cost.kwh));
  put_line(out, "cost", all);
}

static void print_number(const char *name, double value, FILE *out) {
  if (isfinite(value))
    fprintf(out, "\"%s\":%.6g", name, value);
  else
    fprintf(out, "\"%s\":null", name);
}

static void print_object(const char *name, const PlanCost *cost, FILE *out) {
  fprintf(out, " \"%s\":{", name);
  print_number("gpu_hours", cost->gpu_hours, out);
  fputc(',', out);
  print_number("core_hours", cost->core_hours, out);
  fputc(',', out);
  print_number("node_hours", cost->node_hours, out);
  fputc(',', out);
  print_number("cost", cost->dollars, out);
  fputc(',', out);
  print_number("kwh", cost->kwh, out);
  fputs("},\n", out);
}

void print_cost_json(const Compiled *compiled, FILE *out) {
  const PlanCost least = cost_of(compiled, floor_seconds(compiled));
  const PlanCost expected = cost_of(compiled, step_seconds(compiled));
  print_object("at_least", &least, out);
  print_object("expected", &expected, out);
}
