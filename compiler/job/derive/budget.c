/* budget.c -- how many bytes of a device's memory, and of a node's, the plan may use. */
#include "compiler/job/job.h"

int64_t spec_budget(Compile *c, const Job *job, const Cluster *cluster) {
  int64_t whole = cluster->memory_bytes - cluster->reserve_bytes;
  if (!job->set[FIELD_memory_budget]) return whole;
  double budget_bytes = job->memory.budget.value;
  if (job->memory.budget.unit == UNIT_PERCENT)
    budget_bytes = (double)cluster->memory_bytes * budget_bytes / 100;
  if (budget_bytes > (double)cluster->memory_bytes) {
    lint_at(c, job->origin[FIELD_memory_budget].span, "budget-above",
            "memory.budget is more than the %s that a rank has",
            format_bytes(c->arena, cluster->memory_bytes));
    fix_last(c, "budget = \"%lldMB\"", (long long)(whole / 1000000));
  }
  return (int64_t)budget_bytes;
}

int64_t spec_disk_budget(const Job *job, const Cluster *cluster) {
  const Amount *budget = &job->offload.disk;
  if (budget->unit != UNIT_PERCENT) return (int64_t)budget->value;
  if (cluster->disk_bytes == 0) return -1;
  return (int64_t)((double)cluster->disk_bytes * budget->value / 100);
}

int64_t spec_host_budget(const Job *job, const Cluster *cluster) {
  const Amount *budget = &job->offload.budget;
  if (budget->unit != UNIT_PERCENT) return (int64_t)budget->value;
  if (cluster->host_bytes == 0) return -1;
  return (int64_t)((double)cluster->host_bytes * budget->value / 100);
}
