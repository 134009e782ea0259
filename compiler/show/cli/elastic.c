/* elastic.c -- slurm.elastic: a plan for each number of nodes below the job's, for a run that loses
 * some. Degrees that hold a model's layers together stay, and so does the batch: only dp changes.
 */
#include "compiler/show/cli/elastic.h"

#include <string.h>

#include "compiler/show/cli/runs.h"
#include "runtime/plan/plan_io.h"

/* elastic_plans has looked that there is room. */
enum { OVERRIDES = 5 };

static void add_override(Compile *c, Options *options, const char *key, int64_t value) {
  options->overrides.at[options->overrides.count++] =
      arena_printf(c->arena, "%s=%lld", key, (long long)value);
}

/* The job on this many nodes. */
static Options on_nodes(Compile *c, const Options *options, const Compiled *full, int64_t nodes) {
  const Derived *d = &full->derived;
  Options fewer = *options;
  int64_t apart = d->tp * d->pp * d->cp, ranks = nodes * full->cluster.devices;
  add_override(c, &fewer, "cluster.nodes", nodes);
  add_override(c, &fewer, "parallel.tp", d->tp);
  add_override(c, &fewer, "parallel.pp", d->pp);
  add_override(c, &fewer, "parallel.cp", d->cp);
  if (field_is_said(full->job, FIELD_parallel_dp) && ranks % apart == 0)
    add_override(c, &fewer, "parallel.dp", ranks / apart);
  return fewer;
}

static const char *first_error(const Compile *c) {
  for (int32_t i = 0; i < c->diags.list.count; i++)
    if (c->diags.list.at[i].severity == SEVERITY_ERROR) return c->diags.list.at[i].message;
  return "it does not compile";
}

/* Proven like any plan; `why` where there is none. */
static LaunchFewer make_fewer(const Options *options, const Compiled *full, const Launch *launch,
                              int64_t nodes) {
  Compile *c = open_compile(); /* until elastic_close: the plan is in its arena */
  LaunchFewer fewer = {.nodes = nodes, .compile = c};
  if (c == NULL) return (LaunchFewer){.nodes = nodes, .why = "the library is not there"};
  const int64_t apart = full->derived.tp * full->derived.pp * full->derived.cp;
  const Options own = on_nodes(c, options, full, nodes);
  Compiled *compiled = ARENA_NEW(c->arena, Compiled);
  size_t length = strlen(launch->plan_path) - strlen(".plan");
  fewer.ranks = nodes * full->cluster.devices;
  fewer.plan_path =
      arena_printf(c->arena, "%.*s.%lld.plan", (int)length, launch->plan_path, (long long)nodes);
  if (fewer.ranks % apart != 0) {
    fewer.why = arena_printf(c->arena, "%lld ranks are no multiple of tp x cp x pp = %lld",
                             (long long)fewer.ranks, (long long)apart);
  } else if (!compile_job(c, &own, compiled) || !launch_check_memory(c, compiled)) {
    fewer.why = first_error(c);
  } else if (compiled->derived.batch_samples != full->derived.batch_samples) {
    fewer.why = arena_printf(c->arena, "its batch would be %lld samples, not %lld",
                             (long long)compiled->derived.batch_samples,
                             (long long)full->derived.batch_samples);
  } else {
    fewer.plan = &compiled->plan;
    fewer.plan_id = plan_compute_id(&compiled->plan);
  }
  return fewer;
}

void elastic_plans(Compile *c, const Options *options, const Compiled *full, Launch *launch) {
  const Job *job = full->job;
  if (!job->set[FIELD_slurm_elastic]) return;
  if (job->slurm.elastic >= launch->nodes) {
    error_at(c, field_place(job, FIELD_slurm_elastic), "range",
             "slurm.elastic is the fewest nodes that the run goes on with, so it is below its "
             "%lld node%s; got %lld",
             (long long)launch->nodes, plural(launch->nodes), (long long)job->slurm.elastic);
    return;
  }
  if (launch->needs_hosts) {
    error_at(c, field_place(job, FIELD_slurm_elastic), "slurm-types",
             "slurm.elastic is for nodes of one type: a plan for fewer of several types would "
             "need to know which are lost");
    return;
  }
  if (options->overrides.count + OVERRIDES > WORDS_MAX) {
    error_at(c, field_place(job, FIELD_slurm_elastic), "range",
             "slurm.elastic needs %d overrides, so there may be %d of -D; got %d: put some into "
             "the job file",
             OVERRIDES, WORDS_MAX - OVERRIDES, options->overrides.count);
    return;
  }
  for (int64_t nodes = launch->nodes - 1; nodes >= job->slurm.elastic; nodes--)
    VEC_PUSH(c->arena, &launch->fewer, make_fewer(options, full, launch, nodes));
}

void elastic_close(Launch *launch) {
  for (int32_t i = 0; i < launch->fewer.count; i++)
    if (launch->fewer.at[i].compile != NULL) compile_free(launch->fewer.at[i].compile);
  launch->fewer.count = 0;
}

bool elastic_write(const Launch *launch, const char *folder, char why[PLAN_WHY_BYTES]) {
  for (int32_t i = 0; i < launch->fewer.count; i++) {
    const LaunchFewer *fewer = &launch->fewer.at[i];
    if (fewer->plan == NULL) continue;
    if (!plan_write(fewer->plan, fewer->plan_path, why)) return false;
    if (!sources_keep(fewer->compile, fewer->plan->id, folder)) {
      snprintf(why, PLAN_WHY_BYTES, "%s/" MANIFEST_SOURCES ": cannot be written", folder);
      return false;
    }
  }
  return true;
}
