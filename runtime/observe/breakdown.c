/* breakdown.c -- walks the main lane; its gaps are explained by what the other lanes did. */
#include "runtime/observe/breakdown.h"

#include <stddef.h>
#include <stdio.h>

typedef struct BreakdownWalk {
  Breakdown *of;
  const Plan *plan;
  const StepLog *log;
  const StepSpan *span;
  const RecordTimes *records;
  int64_t cursor[PLAN_LANES_MAX]; /* entries before this index ended before the gap */
  int64_t rest_ns;                /* the rest of the step, not assigned to a part yet */
} BreakdownWalk;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t overlap_ns(const TraceEntry *entry, int64_t begin_ns, int64_t end_ns) {
  return most(0, least(entry->end_ns, end_ns) - most(entry->start_ns, begin_ns));
}

/* The axis, or MESH_AXES_MAX if there are several. */
static uint32_t axis_of(const Plan *plan, uint32_t comm) {
  uint32_t mask = plan->comms[comm].axes_mask;
  for (uint32_t axis = 0; axis < MESH_AXES_MAX; axis++)
    if (mask == 1u << axis) return axis;
  return MESH_AXES_MAX;
}

/* Takes the time from the rest of the step, so that parts never exceed it. */
static void give(BreakdownWalk *walk, int64_t *part, int64_t ns) {
  ns = least(ns, walk->rest_ns);
  *part += ns;
  walk->rest_ns -= ns;
}

static void give_exposed(BreakdownWalk *walk, const TraceEntry *entry, int64_t ns) {
  const PlanRecord *record = &walk->plan->records[entry->record];
  uint32_t axis = axis_of(walk->plan, record->comm);
  bool is_stage = axis < MESH_AXES_MAX && walk->plan->axes[axis].divides == DIVIDES_DEPTH;
  int64_t moving_ns = ns;
  walk->records->sum_ns[entry->record] += ns;
  if (is_stage && record->kind == RECORD_EXCHANGE)
    moving_ns = least(ns, walk->records->fastest_ns[entry->record]);
  give(walk, &walk->of->exposed_ns[axis], moving_ns);
  give(walk, &walk->of->bubble_ns, ns - moving_ns);
}

static void give_compute(BreakdownWalk *walk, const TraceEntry *entry, int64_t ns) {
  walk->records->sum_ns[entry->record] += ns;
  give(walk, &walk->of->compute_ns, ns);
}

/* The communication of this lane, or the record of offload, that overlaps the gap most. */
static const TraceEntry *longest_beside(BreakdownWalk *walk, uint32_t lane, int64_t begin_ns,
                                        int64_t end_ns) {
  const TraceEntry *entry = walk->log->lane[lane].entry, *best = NULL;
  int64_t count = walk->log->lane[lane].count, best_ns = 0;
  if (entry == NULL) return NULL;
  while (walk->cursor[lane] < count && entry[walk->cursor[lane]].end_ns <= begin_ns)
    walk->cursor[lane]++;
  for (int64_t i = walk->cursor[lane]; i < count && entry[i].start_ns < end_ns; i++) {
    int64_t ns = overlap_ns(&entry[i], begin_ns, end_ns);
    const PlanRecord *record = &walk->plan->records[entry[i].record];
    const bool explains = record->comm != PLAN_NONE || plan_is_offload(walk->plan, record);
    if (ns <= best_ns || !explains) continue;
    best = &entry[i];
    best_ns = ns;
  }
  return best;
}

/* The main lane waits for the lane that takes longest. */
static void give_gap(BreakdownWalk *walk, int64_t begin_ns, int64_t end_ns) {
  const TraceEntry *best = NULL;
  if (end_ns <= begin_ns) return;
  for (uint32_t lane = 0; lane < walk->plan->lanes_count; lane++) {
    if (lane == plan_main_lane(walk->plan)) continue;
    const TraceEntry *entry = longest_beside(walk, lane, begin_ns, end_ns);
    bool is_better = entry != NULL && (best == NULL || overlap_ns(entry, begin_ns, end_ns) >
                                                           overlap_ns(best, begin_ns, end_ns));
    if (is_better) best = entry;
  }
  if (best == NULL) return;
  const int64_t ns = overlap_ns(best, begin_ns, end_ns);
  if (walk->plan->records[best->record].comm != PLAN_NONE)
    give_exposed(walk, best, ns);
  else
    give(walk, &walk->of->offload_ns, ns);
}

static void note_fastest(const BreakdownWalk *walk) {
  for (uint32_t lane = 0; lane < walk->plan->lanes_count; lane++) {
    const TraceEntry *entry = walk->log->lane[lane].entry;
    for (int64_t i = 0; entry != NULL && i < walk->log->lane[lane].count; i++) {
      int64_t *fastest = &walk->records->fastest_ns[entry[i].record];
      int64_t took_ns = most(1, entry[i].end_ns - entry[i].start_ns);
      if (*fastest == 0 || took_ns < *fastest) *fastest = took_ns;
    }
  }
}

void breakdown_step(Breakdown *of, const Plan *plan, const StepLog *log, const StepSpan *span,
                    const RecordTimes *records) {
  *of = (Breakdown){.step_ns = span->end_ns - span->begin_ns};
  BreakdownWalk walk = {of, plan, log, span, records, {0}, of->step_ns};
  uint32_t lane = plan_main_lane(plan);
  const TraceEntry *entry = log->lane[lane].entry;
  int64_t at_ns = span->begin_ns;
  note_fastest(&walk);
  for (int64_t i = 0; entry != NULL && i < log->lane[lane].count; i++) {
    int64_t ns = overlap_ns(&entry[i], at_ns, span->end_ns);
    give_gap(&walk, at_ns, least(entry[i].start_ns, span->end_ns));
    if (plan->records[entry[i].record].comm != PLAN_NONE)
      give_exposed(&walk, &entry[i], ns);
    else
      give_compute(&walk, &entry[i], ns);
    at_ns = most(at_ns, entry[i].end_ns);
  }
  give_gap(&walk, at_ns, span->end_ns);
  give(&walk, &of->data_ns, span->data_ns);
  of->other_ns = walk.rest_ns;
}

bool breakdown_has_offload(const Plan *plan) {
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++)
    if (plan_is_offload_lane(plan, lane)) return true;
  return false;
}

Breakdown breakdown_predicted(const Plan *plan, const PlanProgram *program) {
  Breakdown of = {.step_ns = program->predicted_ns, .other_ns = program->predicted_ns};
  for (uint32_t i = program->parts_first; i < program->parts_first + program->parts_count; i++) {
    const PlanPart *part = &plan->parts[i];
    uint32_t axis = part->axis < MESH_AXES_MAX ? part->axis : MESH_AXES_MAX;
    *(part->kind == PART_COMPUTE  ? &of.compute_ns
      : part->kind == PART_BUBBLE ? &of.bubble_ns
                                  : &of.exposed_ns[axis]) += part->predicted_ns;
    of.other_ns -= part->predicted_ns;
  }
  if (!breakdown_has_offload(plan)) return of;
  of.offload_ns = of.other_ns; /* a prediction knows nothing else to wait for */
  of.other_ns = 0;
  return of;
}

void breakdown_add(Breakdown *to, const Breakdown *step) {
  to->step_ns += step->step_ns;
  to->compute_ns += step->compute_ns;
  to->bubble_ns += step->bubble_ns;
  to->offload_ns += step->offload_ns;
  to->data_ns += step->data_ns;
  to->other_ns += step->other_ns;
  for (int32_t axis = 0; axis <= MESH_AXES_MAX; axis++)
    to->exposed_ns[axis] += step->exposed_ns[axis];
}

static void print_ms(Text *text, const char *name, const int64_t *ns) {
  if (ns != NULL)
    text_add(text, ",\"%s\":%.6f", name, (double)*ns / 1e6);
  else
    text_add(text, ",\"%s\":null", name);
}

void breakdown_print(const Breakdown *of, const Plan *plan, Text *text) {
  print_ms(text, "compute_ms", of != NULL ? &of->compute_ns : NULL);
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    char name[96];
    if (plan->axes[axis].size == 1) continue;
    (void)snprintf(name, sizeof name, "exposed_%.64s_ms", plan_string(plan, plan->axes[axis].name));
    print_ms(text, name, of != NULL ? &of->exposed_ns[axis] : NULL);
  }
  print_ms(text, "exposed_several_ms", of != NULL ? &of->exposed_ns[MESH_AXES_MAX] : NULL);
  print_ms(text, "bubble_ms", of != NULL ? &of->bubble_ns : NULL);
  if (breakdown_has_offload(plan))
    print_ms(text, "offload_ms", of != NULL ? &of->offload_ns : NULL);
  print_ms(text, "other_ms", of != NULL ? &of->other_ns : NULL);
}

int64_t breakdown_exposed_ns(const Breakdown *of) {
  int64_t sum_ns = 0;
  for (int32_t axis = 0; axis <= MESH_AXES_MAX; axis++)
    sum_ns += of->exposed_ns[axis];
  return sum_ns;
}
