#include "compiler/draft/cost/saves.h"

#include "runtime/parts/parts.h"
#include "runtime/plan/interval.h"

static void add_snapshots(const Plan *plan, Saves *saves) {
  int64_t longest_ns = 0;
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const PlanClass *class = &plan->classes[c];
    const PlanProgram *program = plan_program(plan, class, PROGRAM_SNAPSHOT);
    if (program != NULL && program->predicted_ns > longest_ns) longest_ns = program->predicted_ns;
    for (uint32_t i = 0; i < class->buffers_count; i++) {
      const PlanBuffer *buffer = &plan->buffers[class->buffers_first + i];
      if (buffer->kind == BUFFER_SNAPSHOT && (int64_t)buffer->size_bytes > saves->snapshot_bytes)
        saves->snapshot_bytes = (int64_t)buffer->size_bytes;
    }
  }
  if (saves->snapshot_bytes > 0) saves->stall_s = (double)longest_ns / 1e9;
}

bool saves_of(const Plan *plan, const Job *job, int64_t nodes, Saves *saves) {
  State state;
  Status status;
  PartTotals totals;
  *saves = (Saves){0};
  if (!state_open(&state, plan, &status)) return false;
  bool is_counted = part_totals(&state, &totals);
  state_close(&state);
  if (!is_counted) return false;
  saves->bytes = totals.bytes;
  saves->largest_part_bytes = totals.largest_bytes;
  saves->parts = totals.parts;
  if (job->checkpoint.memory.value > 0) saves->kept_bytes = 2 * totals.largest_bytes;
  saves->write_s = (double)totals.bytes / job->slurm.write;
  saves->stall_s = saves->write_s;
  add_snapshots(plan, saves);
  saves->restart_s = saves->write_s;
  if (!job->set[FIELD_cluster_mtbf]) return true;
  saves->failure_s = job->cluster.mtbf.value / (double)nodes;
  saves->best_s = interval_best_s(saves->stall_s, saves->write_s, saves->failure_s);
  return true;
}
