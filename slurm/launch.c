/* launch.c -- a compiled job as what Slurm is asked for. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/show/explain/explain.h"
#include "runtime/plan/plan_io.h"
#include "slurm/environment.h"
#include "slurm/launch_lines.h"
#include "slurm/options.h"
#include "slurm/partitions.h"

/* The bytes of all files of one checkpoint; 0: none is written. */
static int64_t checkpoint_bytes(const Compiled *compiled) {
  Saves saves;
  return explain_saves(compiled, &saves) ? saves.bytes : 0;
}

/* ---- hosts */

static bool is_host(const char *name) {
  for (const char *p = name; *p; p++)
    if (!isalnum((unsigned char)*p) && !strchr("._-", *p)) return false;
  return *name && *name != '-';
}

/* Lists the hosts that the plan names, in the order of their switches, which need not be Slurm's
 * order. False: reported. */
static bool list_hosts(const LaunchMaking *m) {
  const Fabric *fabric = m->compiled->fabric;
  m->launch->needs_hosts = fabric->kind_count > 1;
  for (int64_t n = 0; fabric->hosts && n < fabric->node_count; n++) {
    const char *host = fabric->hosts[n];
    if (!is_host(host))
      return error_at(m->c, m->compiled->cluster.switches_at, "topology-hosts",
                      "\"%s\" is no name of a host: letters, digits, '.', '_' and '-'",
                      text_plain(m->c->arena, host));
    VEC_PUSH(m->c->arena, &m->launch->hosts,
             arena_printf(m->c->arena, "%s:%d", host,
                          fabric->kinds[fabric_kind_of(fabric, n)].seat_count));
  }
  return true;
}

/* Slurm knows no types of nodes: it can be told which nodes, or that any will do. */
static bool check_types(const LaunchMaking *m) {
  const Launch *launch = m->launch;
  const Job *job = launch->job;
  const PairList *own = &job->slurm.sbatch;
  if (!launch->needs_hosts) return true;
  const Pair *exclusive = launch_pair(own, "exclusive");
  if (launch->hosts.count == 0) {
    error_at(m->c, m->compiled->cluster.at, "slurm-types",
             "the cluster has nodes of several types, and nothing says which hosts these are");
    fix_last(m->c, "hosts = \"n[01-04]\" in each of types, and switches");
    return false;
  }
  if (job->slurm.spares > 0)
    return error_at(m->c, field_place(job, FIELD_slurm_spares), "slurm-types",
                    "no spare node replaces nodes of several types");
  if ((exclusive && exclusive->is_off) || launch_pair(own, "oversubscribe"))
    return error_at(m->c, exclusive ? exclusive->origin.span : m->compiled->cluster.at,
                    "slurm-types", "nodes of several types are taken whole: exclusive stays");
  return true;
}

/* ---- environment */

static void add_environment(const LaunchMaking *m) {
  const PairList *own = &m->launch->job->slurm.env;
  LaunchLines *out = &m->launch->environment;
  if (!launch_pair(own, "SLURM_PMIX_FENCE"))
    launch_add(m, out, "SLURM_PMIX_FENCE", "ring",
               "default: the tree of Slurm 20.11 and later is no barrier on few nodes");
  if (m->launch->devices > 0 && !launch_pair(own, "NCCL_DEBUG"))
    launch_add(m, out, "NCCL_DEBUG", "WARN", "default");
  if (!launch_pair(own, "OMP_NUM_THREADS"))
    launch_add(m, out, "OMP_NUM_THREADS", "1", "default: the plan counts threads itself");
  if (m->launch->umask >= 0)
    launch_add(m, out, "SLURM_UMASK", arena_printf(m->c->arena, "%04o", (unsigned)m->launch->umask),
               launch_because(m, FIELD_slurm_umask, "slurm.umask"));
  for (int32_t i = 0; i < own->count; i++) {
    const Pair *pair = &own->at[i];
    const char *origin = library_text(m->c, origin_text(m->c->arena, &pair->origin));
    if (!pair->is_off)
      launch_add(m, out, pair->name, pair->text,
                 arena_printf(m->c->arena, "slurm.env; %s", origin));
  }
}

/* ---- the whole */

/* A whole command in one word starts nothing. */
static void check_wrap(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  const char *word = job->slurm.wrap.count > 0 ? job->slurm.wrap.at[0] : "";
  if (!strchr(word, ' ') || strchr(word, '/')) return;
  error_at(m->c, field_place(job, FIELD_slurm_wrap), "wrong-type",
           "slurm.wrap: \"%s\" is one word, and no program is called so",
           text_plain(m->c->arena, word));
  fix_last(m->c, "slurm.wrap = { \"%.*s\", ... }, a text for each word", (int)strcspn(word, " "),
           word);
}

/* False when reported. */
static bool read_umask(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  char *end;
  m->launch->umask = -1;
  if (!job->set[FIELD_slurm_umask]) return true;
  long mask = strtol(job->slurm.umask, &end, 8);
  bool is_octal = job->slurm.umask[strspn(job->slurm.umask, "01234567")] == 0;
  if (!is_octal || end == job->slurm.umask || mask > 0777)
    return error_at(m->c, field_place(job, FIELD_slurm_umask), "wrong-type",
                    "slurm.umask is written in octal digits, as \"027\"; got \"%s\"",
                    text_plain(m->c->arena, job->slurm.umask));
  if (mask & 0700)
    return error_at(m->c, field_place(job, FIELD_slurm_umask), "wrong-type",
                    "slurm.umask %s would keep you from the files of your own run",
                    job->slurm.umask);
  m->launch->umask = (int32_t)mask;
  return true;
}

/* Options that the site's Slurm does not know are refused here, not by its sbatch. */
static void check_version(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  if (!job->set[FIELD_slurm_version]) return;
  int32_t version = version_read(job->slurm.version);
  Span at = field_place(job, FIELD_slurm_version);
  if (version == 0) {
    error_at(m->c, at, "wrong-type", "slurm.version is written as \"24.05\"; got \"%s\"",
             job->slurm.version);
    return;
  }
  const LaunchLines *lists[] = {&m->launch->directives, &m->launch->step};
  for (int32_t k = 0; k < 2; k++)
    for (int32_t i = 0; i < lists[k]->count; i++) {
      const LaunchLine *line = &lists[k]->at[i];
      int32_t since = option_version(line->name + 2, line->value);
      if (since > version)
        error_at(m->c, at, "slurm-option", "%s%s%s (%s) needs Slurm %d.%02d; slurm.version is %s",
                 line->name, line->value ? "=" : "", line->value ? line->value : "", line->why,
                 since / 100, since % 100, job->slurm.version);
    }
}

/* Refuses requests that exceed the site's profile. */
static void check_site(const LaunchMaking *m) {
  NodeGroups site;
  if (partitions_of_site(m->c, m->launch->job, &site)) partitions_check(m->c, m->launch, &site);
}

Launch *launch_make(Compile *c, const Compiled *compiled, const char *programs) {
  const Job *job = compiled->job;
  Launch *launch = ARENA_NEW(c->arena, Launch);
  const LaunchMaking m = {c, compiled, launch};
  bool is_gpu = compiled->cluster.target != TARGET_CPU;
  *launch = (Launch){.job = job,
                     .plan = &compiled->plan,
                     .plan_id = plan_compute_id(&compiled->plan),
                     .programs = job->set[FIELD_slurm_programs] ? job->slurm.programs : programs,
                     .nodes = compiled->cluster.nodes,
                     .node_ranks = compiled->cluster.devices,
                     .ranks = compiled->cluster.ranks,
                     .devices = is_gpu ? compiled->cluster.devices : 0,
                     .saves = job->checkpoint.every.unit != UNIT_NEVER,
                     .checkpoint_bytes = checkpoint_bytes(compiled)};
  launch->plan_path = arena_printf(c->arena, "%s/%s.plan", job->log.dir, job->job.name);
  launch->job = launch_with_time(&m, job);
  if (launch->job == NULL) return NULL;
  environment_check(c, job);
  if (!list_hosts(&m) || !check_types(&m) || !read_umask(&m)) return NULL;
  launch_add_directives(&m);
  if (!launch_add_signal(&m)) return NULL;
  launch_add_chain(&m);
  launch_add_step(&m);
  add_environment(&m);
  check_version(&m);
  check_wrap(&m);
  check_site(&m);
  (void)launch_check_memory(c, compiled);
  return compile_failed(c) ? NULL : launch;
}
