#include "slurm/launch_lines.h"

#include <string.h>

#include "slurm/options.h"

const char *launch_because(const LaunchMaking *m, int32_t field, const char *key) {
  const char *origin = origin_text(m->c->arena, &m->launch->job->origin[field]);
  return arena_printf(m->c->arena, "%s; %s", key, library_text(m->c, origin));
}

void launch_add(const LaunchMaking *m, LaunchLines *lines, const char *name, const char *value,
                const char *why) {
  VEC_PUSH(m->c->arena, lines, (LaunchLine){name, value, why});
}

const char *launch_number(const LaunchMaking *m, int64_t n) {
  return arena_printf(m->c->arena, "%lld", (long long)n);
}

const Pair *launch_pair(const PairList *pairs, const char *name) {
  for (int32_t i = 0; i < pairs->count; i++)
    if (strcmp(pairs->at[i].name, name) == 0) return &pairs->at[i];
  return NULL;
}

int64_t launch_cores(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  int64_t threads = m->compiled->cluster.threads;
  if (m->launch->devices == 0) return threads;
  return job->cluster.cores > m->launch->devices ? job->cluster.cores / m->launch->devices : 1;
}

void launch_add_pairs(const LaunchMaking *m, const PairList *pairs, bool is_step) {
  LaunchLines *out = is_step ? &m->launch->step : &m->launch->directives;
  const char *key = is_step ? "slurm.srun" : "slurm.sbatch";
  for (int32_t i = 0; i < pairs->count; i++) {
    const Pair *pair = &pairs->at[i];
    if (!option_allowed(m->c, pair, is_step) || pair->is_off) continue;
    const char *origin = library_text(m->c, origin_text(m->c->arena, &pair->origin));
    launch_add(m, out, arena_printf(m->c->arena, "--%s", pair->name), pair->text,
               arena_printf(m->c->arena, "%s; %s", key, origin));
  }
}
