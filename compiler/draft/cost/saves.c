#include "compiler/draft/cost/saves.h"

#include "runtime/parts/parts.h"
#include "runtime/plan/interval.h"

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
  saves->write_s = (double)totals.bytes / job->slurm.write;
  saves->stall_s = saves->write_s;
  saves->restart_s = saves->write_s;
  if (!job->set[FIELD_cluster_mtbf]) return true;
  saves->failure_s = job->cluster.mtbf.value / (double)nodes;
  saves->best_s = interval_best_s(saves->stall_s, saves->write_s, saves->failure_s);
  return true;
}
