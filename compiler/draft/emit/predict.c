/* predict.c -- how long programs take, simulated with the times that the plan itself states. */
#include <math.h>

#include "compiler/draft/cost/saves.h"
#include "compiler/draft/emit/tables.h"
#include "compiler/draft/lane.h"
#include "compiler/plan/simulate/simulate.h"
#include "runtime/plan/plan_job.h"

static void emit_part(Tables *t, PlanProgram *program, PartKind kind, uint32_t axis, int64_t ns) {
  if (ns == 0) return;
  TABLE_PUSH(t, parts, (PlanPart){.predicted_ns = ns, .kind = kind, .axis = axis});
  program->parts_count++;
}

static void emit_parts(Tables *t, PlanProgram *program, const LaneParts *parts) {
  program->parts_first = (uint32_t)t->parts.count;
  emit_part(t, program, PART_COMPUTE, PLAN_NONE, parts->compute_ns);
  for (uint32_t axis = 0; axis < (uint32_t)t->axes.count; axis++)
    emit_part(t, program, PART_EXPOSED, axis, parts->exposed_ns[axis]);
  emit_part(t, program, PART_EXPOSED, PLAN_NONE, parts->exposed_ns[PLAN_AXES_MAX]);
  emit_part(t, program, PART_BUBBLE, PLAN_NONE, parts->bubble_ns);
}

/* Without overlap, the time that the lane of gradients and weights ran beside others is added. */
static int64_t undo_overlap(const Draft *d, LaneTimes *times) {
  int64_t exposed_ns = 0;
  const uint32_t axes[] = {MESH_REPLICATE, MESH_DP};
  if (d->cluster->software.overlaps) return 0;
  for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
    exposed_ns += times->parts.exposed_ns[axes[i]];
  const int64_t hidden_ns = times->busy_ns[LANE_DP] - exposed_ns;
  if (hidden_ns <= 0) return 0;
  times->parts.exposed_ns[MESH_DP] += hidden_ns;
  return hidden_ns;
}

/* A simulated span, as the cluster's software runs it. */
static int64_t expected_ns(const Draft *d, LaneTimes *times) {
  const int64_t hidden_ns = undo_overlap(d, times);
  return (int64_t)((double)(times->span_ns + hidden_ns) * d->cluster->software.slack + 0.5);
}

void emit_predictions(Tables *t, const Draft *d, const Plan *plan) {
  LaneTimes *times[ProgramKind_COUNT];
  for (int32_t kind = 0; kind < ProgramKind_COUNT; kind++)
    times[kind] = simulate(t->arena, plan, (ProgramKind)kind);
  for (int32_t c = 0; c < t->classes.count; c++) {
    const PlanClass *class = &t->classes.at[c];
    for (uint32_t i = 0; i < class->programs_count; i++) {
      PlanProgram *program = &t->programs.at[class->programs_first + i];
      program->predicted_ns = expected_ns(d, &times[program->kind][c]);
      emit_parts(t, program, &times[program->kind][c].parts);
    }
  }
}

/* 0 where the state cannot be listed: then the proof refuses the plan. */
void emit_interval(Tables *t, const Draft *d, const Plan *plan) {
  Saves saves;
  if (saves_of(plan, d->job, d->cluster->nodes, &saves))
    t->settings.at[JOB_auto_every_s].count = (int64_t)fmax(1, round(saves.best_s));
}
