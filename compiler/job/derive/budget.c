/* budget.c -- how many bytes of a device's memory, and of a node's, the plan may use. */
#include "compiler/job/job.h"

static double said_bytes(const Job *job, const Cluster *cluster) {
  const Amount *budget = &job->memory.budget;
  if (budget->unit != UNIT_PERCENT) return budget->value;
  return (double)cluster->memory_bytes * budget->value / 100;
}

int64_t spec_budget(const Job *job, const Cluster *cluster, int64_t reserve_bytes) {
  const int64_t left_bytes = cluster->memory_bytes - reserve_bytes;
  if (!job->set[FIELD_memory_budget]) return left_bytes > 0 ? left_bytes : 0;
  return (int64_t)said_bytes(job, cluster);
}

void spec_check_budget(Compile *c, const Job *job, const Cluster *cluster, int64_t reserve_bytes) {
  if (!job->set[FIELD_memory_budget]) return;
  if (said_bytes(job, cluster) <= (double)cluster->memory_bytes) return;
  lint_at(c, job->origin[FIELD_memory_budget].span, "budget-above",
          "memory.budget is more than the %s that a rank has",
          format_bytes(c->arena, cluster->memory_bytes));
  fix_last(c, "budget = \"%lldMB\"",
           (long long)((cluster->memory_bytes - reserve_bytes) / 1000000));
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
