/* launch_directives.c -- what sbatch is asked for: nodes, memory, time, partition, log. */
#include <string.h>

#include "slurm/launch_lines.h"

/* Minutes and seconds as sbatch reads them. */
static const char *time_text(const LaunchMaking *m, double time_s) {
  int64_t s = (int64_t)time_s, days = s / 86400;
  const char *day = days > 0 ? arena_printf(m->c->arena, "%lld-", (long long)days) : "";
  return arena_printf(m->c->arena, "%s%02lld:%02lld:%02lld", day, (long long)(s / 3600 % 24),
                      (long long)(s / 60 % 60), (long long)(s % 60));
}

/* "n1,n2,n5", without their ranks. */
static const char *hosts_text(const LaunchMaking *m) {
  const TextList *hosts = &m->launch->hosts;
  const char *text = "";
  for (int32_t i = 0; i < hosts->count; i++)
    text = arena_printf(m->c->arena, "%s%s%.*s", text, i ? "," : "",
                        (int)strcspn(hosts->at[i], ":"), hosts->at[i]);
  return text;
}

static void add_sizes(const LaunchMaking *m) {
  Launch *launch = m->launch;
  LaunchLines *out = &launch->directives;
  const Job *job = launch->job;
  int64_t spares = job->slurm.spares;
  const char *nodes = launch_because(m, FIELD_cluster_nodes, "cluster.nodes");
  if (spares > 0)
    nodes = arena_printf(m->c->arena, "%s; and %lld of slurm.spares", nodes, (long long)spares);
  launch_add(m, out, "--nodes", launch_number(m, launch->nodes + spares), nodes);
  if (launch->needs_hosts) {
    launch_add(m, out, "--nodelist", hosts_text(m),
               "cluster.types: each on its hosts, whole nodes");
    return;
  }
  launch_add(m, out, "--ntasks-per-node", launch_number(m, launch->node_ranks),
             launch_because(m, FIELD_cluster_devices, "cluster.devices"));
  launch_add(m, out, "--cpus-per-task", launch_number(m, launch_cores(m)),
             launch_because(m, FIELD_cluster_cores, "cluster.cores / cluster.devices"));
  if (launch->devices > 0 && job->slurm.gpus != CHOICE_GPUS_NONE) {
    bool is_gres = job->slurm.gpus == CHOICE_GRES;
    const char *type =
        job->set[FIELD_slurm_gpu_type] ? arena_printf(m->c->arena, "%s:", job->slurm.gpu_type) : "";
    launch_add(m, out, is_gres ? "--gres" : "--gpus-per-node",
               arena_printf(m->c->arena, "%s%s%lld", is_gres ? "gpu:" : "", type,
                            (long long)launch->devices),
               launch_because(m, FIELD_cluster_devices, "cluster.devices"));
  }
  if (spares > 0)
    launch_add(m, out, "--no-kill", NULL, "slurm.spares: a node may fail");
  else if (job->set[FIELD_slurm_elastic])
    launch_add(m, out, "--no-kill", NULL, "slurm.elastic: a node may fail");
}

/* Segments of nodes that fit a block and divide the job. */
static void add_segment(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  if (!job->set[FIELD_slurm_block]) return;
  int64_t segment = m->launch->nodes < job->slurm.block ? m->launch->nodes : job->slurm.block;
  while (m->launch->nodes % segment != 0)
    segment--;
  launch_add(m, &m->launch->directives, "--segment", launch_number(m, segment),
             launch_because(m, FIELD_slurm_block,
                            arena_printf(m->c->arena, "divides %lld node%s, fits slurm.block",
                                         (long long)m->launch->nodes, plural(m->launch->nodes))));
}

static void refuse_empty(const LaunchMaking *m, int32_t field, const char *key) {
  error_at(m->c, field_place(m->launch->job, field), "wrong-type", "%s is empty", key);
  fix_last(m->c, "leave %s out, for Slurm's default", key);
}

static void add_texts(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  const struct {
    int32_t field;
    const char *option, *key, *text;
  } texts[] = {
      {FIELD_slurm_partition, "--partition", "slurm.partition", job->slurm.partition},
      {FIELD_slurm_account, "--account", "slurm.account", job->slurm.account},
      {FIELD_slurm_qos, "--qos", "slurm.qos", job->slurm.qos},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (job->set[texts[i].field] && *texts[i].text)
      launch_add(m, &m->launch->directives, texts[i].option, texts[i].text,
                 launch_because(m, texts[i].field, texts[i].key));
    else if (job->set[texts[i].field])
      refuse_empty(m, texts[i].field, texts[i].key);
}

/* Hosts that take no ranks, whoever says so. */
static void add_exclude(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  const char *own = job->set[FIELD_slurm_exclude] ? job->slurm.exclude : NULL;
  const char *drained = m->launch->needs_hosts ? NULL : m->compiled->cluster.drained;
  const char *why = own ? launch_because(m, FIELD_slurm_exclude, "slurm.exclude") : NULL;
  if (drained)
    why = arena_printf(m->c->arena, "%scluster.drained",
                       why ? arena_printf(m->c->arena, "%s; ", why) : "");
  if (why)
    launch_add(m, &m->launch->directives, "--exclude",
               arena_printf(m->c->arena, "%s%s%s", own ? own : "", own && drained ? "," : "",
                            drained ? drained : ""),
               why);
}

/* A plan takes whole nodes, with their memory, unless the job says otherwise. */
static void add_whole_nodes(const LaunchMaking *m) {
  const PairList *own = &m->launch->job->slurm.sbatch;
  LaunchLines *out = &m->launch->directives;
  bool has_memory =
      launch_pair(own, "mem") || launch_pair(own, "mem-per-cpu") || launch_pair(own, "mem-per-gpu");
  if (!launch_pair(own, "exclusive") && !launch_pair(own, "oversubscribe"))
    launch_add(m, out, "--exclusive", NULL, "default; slurm.sbatch = { exclusive = false }");
  if (!has_memory) launch_add(m, out, "--mem", "0", "default: all of a node; slurm.sbatch.mem");
  if (!launch_pair(own, "export"))
    launch_add(m, out, "--export", "ALL", "default; slurm.sbatch.export");
  if (m->launch->nodes + m->launch->job->slurm.spares > 1 && !launch_pair(own, "wait-all-nodes"))
    launch_add(m, out, "--wait-all-nodes", "1",
               "default: all have booted; slurm.sbatch['wait-all-nodes']");
}

/* The text that Slurm turns into `path`: every "%" is doubled, because Slurm would fill it in. */
static const char *without_patterns(const LaunchMaking *m, const char *path) {
  char *text = arena_alloc(m->c->arena, 2 * strlen(path) + 1), *to = text;
  for (; *path; path++) {
    if (*path == '%') *to++ = '%';
    *to++ = *path;
  }
  *to = 0;
  return text;
}

void launch_add_directives(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  LaunchLines *out = &m->launch->directives;
  const char *log =
      arena_printf(m->c->arena, "%s/slurm/%%j.log", without_patterns(m, job->log.dir));
  launch_add(m, out, "--job-name", job->job.name, launch_because(m, FIELD_job_name, "name"));
  add_sizes(m);
  add_segment(m);
  launch_add(m, out, "--time", time_text(m, job->slurm.time.value),
             launch_because(m, FIELD_slurm_time, "slurm.time"));
  add_texts(m);
  add_exclude(m);
  add_whole_nodes(m);
  launch_add_pairs(m, &job->slurm.sbatch, false);
  launch_add(m, out, job->slurm.requeue ? "--requeue" : "--no-requeue", NULL,
             launch_because(m, FIELD_slurm_requeue, "slurm.requeue"));
  launch_add(m, out, "--output", log, launch_because(m, FIELD_log_dir, "log.dir"));
  launch_add(m, out, "--open-mode", "append", "one log over all starts of the job");
}
