/* cost.c -- what a run costs at least, from the floor of a step: GPU-hours, node-hours, money. */
#include <math.h>

#include "compiler/show/explain/words.h"

/* The floor is a lower bound, and so is what follows from it. Unknown values are NAN. */
typedef struct RunCost {
  double gpu_hours, core_hours; /* one of them: those of the ranks */
  double node_hours, dollars;
} RunCost;

static RunCost least_cost(const Compiled *compiled) {
  const Job *job = compiled->job;
  const Cluster *cluster = &compiled->cluster;
  double hours = floor_seconds(compiled) * (double)compiled->derived.steps / 3600;
  double ranks = (double)rank_count(compiled);
  if (hours <= 0) return (RunCost){NAN, NAN, NAN, NAN};
  bool has_gpus = cluster->target == TARGET_CUDA, is_priced = job->set[FIELD_cluster_price];
  double node_hours = hours * (double)cluster->nodes;
  return (RunCost){
      .gpu_hours = has_gpus ? hours * ranks : NAN,
      .core_hours = has_gpus ? NAN : hours * ranks * (double)cluster->threads,
      .node_hours = node_hours,
      .dollars = is_priced ? node_hours * job->cluster.price.value : NAN,
  };
}

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
  RunCost cost = least_cost(compiled);
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
  const char *all = arena_printf(arena, "at least %s %s-hours, %s node-hours",
                                 hours_text(arena, has_gpus ? cost.gpu_hours : cost.core_hours),
                                 has_gpus ? "GPU" : "core", hours_text(arena, cost.node_hours));
  if (is_priced) all = arena_printf(arena, "%s, %s", all, dollars_text(arena, cost.dollars));
  put_line(out, "cost", all);
}

static void print_number(const char *name, double value, FILE *out) {
  if (isfinite(value))
    fprintf(out, "\"%s\":%.6g", name, value);
  else
    fprintf(out, "\"%s\":null", name);
}

void print_cost_json(const Compiled *compiled, FILE *out) {
  RunCost cost = least_cost(compiled);
  fputs(" \"at_least\":{", out);
  print_number("gpu_hours", cost.gpu_hours, out);
  fputc(',', out);
  print_number("core_hours", cost.core_hours, out);
  fputc(',', out);
  print_number("node_hours", cost.node_hours, out);
  fputc(',', out);
  print_number("cost", cost.dollars, out);
  fputs("},\n", out);
}
