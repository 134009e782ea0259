/* launch_time.c -- the time limit of a job, the signal before it, and the chain of jobs of a longer
 * run. */
#include <math.h>
#include <string.h>

#include "compiler/draft/cost/range.h"
#include "compiler/show/explain/explain.h"
#include "slurm/launch_lines.h"

enum { STEPS_AHEAD = 2 };
/* A step that other users of the network or a file system hold up, over the long end of what is
 * expected. */
static const double HELD_UP = 2;
static const double STEP_UNKNOWN_S = 10;

static const char *lead_text(const LaunchMaking *m, double step_s, double save_s) {
  Arena *arena = m->c->arena;
  if (!m->launch->saves)
    return arena_printf(arena, "%d steps of %s, no checkpoint, slurm.margin %.0f s",
                        (int)STEPS_AHEAD, format_seconds(arena, step_s),
                        m->launch->job->slurm.margin.value);
  return arena_printf(arena, "%d steps of %s, a checkpoint of %s in %s, slurm.margin %.0f s",
                      (int)STEPS_AHEAD, format_seconds(arena, step_s),
                      format_bytes(arena, m->launch->checkpoint_bytes),
                      format_seconds(arena, save_s), m->launch->job->slurm.margin.value);
}

static double slow_step_s(const LaunchMaking *m) {
  return step_seconds(m->compiled) * time_range(&m->compiled->cluster).high * HELD_UP;
}

bool launch_add_signal(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  double step_s = slow_step_s(m);
  if (step_s <= 0) step_s = STEP_UNKNOWN_S;
  double save_s = (double)m->launch->checkpoint_bytes / job->slurm.write;
  double lead_s = ceil(STEPS_AHEAD * step_s + save_s + job->slurm.margin.value);
  m->launch->lead_s = (int64_t)lead_s;
  if (lead_s >= job->slurm.time.value) {
    error_at(m->c, field_place(job, FIELD_slurm_time), "slurm-time",
             "slurm.time is %s; saving before the limit takes %.0f s of it: %s",
             format_seconds(m->c->arena, job->slurm.time.value), lead_s,
             lead_text(m, step_s, save_s));
    fix_last(m->c, "slurm.time = \"%.0fm\"", ceil(lead_s / 60) * 2);
    return false;
  }
  launch_add(m, &m->launch->directives, "--signal",
             arena_printf(m->c->arena, "B:USR1@%.0f", lead_s), lead_text(m, step_s, save_s));
  return true;
}

void launch_add_chain(const LaunchMaking *m) {
  Launch *launch = m->launch;
  const Job *job = launch->job;
  double step_s = slow_step_s(m);
  double run_s = step_s * (double)m->compiled->derived.steps;
  double each_s = job->slurm.time.value - (double)launch->lead_s;
  const char *why = launch_because(m, FIELD_slurm_chain, "slurm.chain");
  launch->chain = job->set[FIELD_slurm_chain] ? job->slurm.chain : 1;
  if (!job->set[FIELD_slurm_chain] && !job->slurm.requeue && run_s > each_s) {
    launch->chain = (int64_t)fmin(ceil(run_s / each_s), CHAIN_MOST);
    why = arena_printf(m->c->arena,
                       "slurm.requeue is off; %s steps of %s, %s of each job for them; slurm.chain",
                       format_count(m->c->arena, m->compiled->derived.steps),
                       format_seconds(m->c->arena, step_s), format_seconds(m->c->arena, each_s));
  }
  if (launch->chain > 1) launch_add(m, &launch->waits, "--dependency", "afterany:JOB", why);
}

const Job *launch_with_time(const LaunchMaking *m, const Job *job) {
  enum { START_S = 600, MINUTE_S = 60 }; /* START_S: modules, preflight, data */
  const double step_s = slow_step_s(m) / HELD_UP;
  if (job->set[FIELD_slurm_time]) return job;
  if (step_s <= 0) {
    const Span at = job->slurm.head_origin.span;
    error_at(m->c, at.file ? at : (Span){.file = job->path}, "missing-key",
             "slurm.time says how long the job may take");
    return fix_last(m->c, "slurm = { time = \"24h\" }"), NULL;
  }
  const double all_s = step_s * (double)(m->compiled->derived.steps + STEPS_AHEAD * 2) +
                       (double)m->launch->checkpoint_bytes / job->slurm.write +
                       job->slurm.margin.value + START_S;
  Job *completed = ARENA_NEW(m->c->arena, Job);
  *completed = *job;
  completed->slurm.time = (Amount){ceil(all_s / MINUTE_S) * MINUTE_S, UNIT_SECONDS};
  completed->origin[FIELD_slurm_time].kind = ORIGIN_DERIVED;
  completed->origin[FIELD_slurm_time].rule = arena_printf(
      m->c->arena, "%s steps of %s at the long end of what is expected",
      format_count(m->c->arena, m->compiled->derived.steps), format_seconds(m->c->arena, step_s));
  return completed;
}
