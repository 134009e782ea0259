/* launch.c -- a compiled job as what Slurm is asked for. */
#include "slurm/launch.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/draft/cost/range.h"
#include "compiler/show/explain/explain.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_place.h"
#include "slurm/environment.h"
#include "slurm/options.h"
#include "slurm/partitions.h"

enum { STEPS_AHEAD = 2 };
/* A step that other users of the network or a file system hold up, over the long end of what is
 * expected. */
static const double HELD_UP = 2;
static const double STEP_UNKNOWN_S = 10;

typedef struct LaunchMaking {
  Compile *c;
  const Compiled *compiled;
  Launch *launch;
} LaunchMaking;

/* "slurm.partition; site: specs/sites/x.lua:3:15" */
static const char *because(const LaunchMaking *m, int32_t field, const char *key) {
  const char *origin = origin_text(m->c->arena, &m->launch->job->origin[field]);
  return arena_printf(m->c->arena, "%s; %s", key, library_text(m->c, origin));
}

static void add(const LaunchMaking *m, LaunchLines *lines, const char *name, const char *value,
                const char *why) {
  VEC_PUSH(m->c->arena, lines, (LaunchLine){name, value, why});
}

static const char *number(const LaunchMaking *m, int64_t n) {
  return arena_printf(m->c->arena, "%lld", (long long)n);
}

static const Pair *find_pair(const PairList *pairs, const char *name) {
  for (int32_t i = 0; i < pairs->count; i++)
    if (strcmp(pairs->at[i].name, name) == 0) return &pairs->at[i];
  return NULL;
}

/* ---- what the plan needs */

/* The bytes of all files of one checkpoint; 0: none is written. */
static int64_t checkpoint_bytes(const Compiled *compiled) {
  Saves saves;
  return explain_saves(compiled, &saves) ? saves.bytes : 0;
}

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

/* When the ranks are told that the limit comes. False when reported: there would be no time to
 * train. */
static bool add_signal(const LaunchMaking *m) {
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
  add(m, &m->launch->directives, "--signal", arena_printf(m->c->arena, "B:USR1@%.0f", lead_s),
      lead_text(m, step_s, save_s));
  return true;
}

/* A run that is longer than the limit goes on in the next job of a chain, where the job does not go
 * back into the queue by itself. A job too many costs nothing: what is done takes the rest out. */
static void add_chain(const LaunchMaking *m) {
  Launch *launch = m->launch;
  const Job *job = launch->job;
  double step_s = slow_step_s(m);
  double run_s = step_s * (double)m->compiled->derived.steps;
  double each_s = job->slurm.time.value - (double)launch->lead_s;
  const char *why = because(m, FIELD_slurm_chain, "slurm.chain");
  launch->chain = job->set[FIELD_slurm_chain] ? job->slurm.chain : 1;
  if (!job->set[FIELD_slurm_chain] && !job->slurm.requeue && run_s > each_s) {
    launch->chain = (int64_t)fmin(ceil(run_s / each_s), CHAIN_MOST);
    why = arena_printf(m->c->arena,
                       "slurm.requeue is off; %s steps of %s, %s of each job for them; slurm.chain",
                       format_count(m->c->arena, m->compiled->derived.steps),
                       format_seconds(m->c->arena, step_s), format_seconds(m->c->arena, each_s));
  }
  if (launch->chain > 1) add(m, &launch->waits, "--dependency", "afterany:JOB", why);
}

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
  const Pair *exclusive = find_pair(own, "exclusive");
  if (launch->hosts.count == 0) {
    error_at(m->c, m->compiled->cluster.at, "slurm-types",
             "the cluster has nodes of several types, and nothing says which hosts these are");
    fix_last(m->c, "hosts = \"n[01-04]\" in each of types, and switches");
    return false;
  }
  if (job->slurm.spares > 0)
    return error_at(m->c, field_place(job, FIELD_slurm_spares), "slurm-types",
                    "no spare node replaces nodes of several types");
  if ((exclusive && exclusive->is_off) || find_pair(own, "oversubscribe"))
    return error_at(m->c, exclusive ? exclusive->origin.span : m->compiled->cluster.at,
                    "slurm-types", "nodes of several types are taken whole: exclusive stays");
  return true;
}

/* Minutes and seconds as sbatch reads them. */
static const char *time_text(const LaunchMaking *m, double time_s) {
  int64_t s = (int64_t)time_s, days = s / 86400;
  const char *day = days > 0 ? arena_printf(m->c->arena, "%lld-", (long long)days) : "";
  return arena_printf(m->c->arena, "%s%02lld:%02lld:%02lld", day, (long long)(s / 3600 % 24),
                      (long long)(s / 60 % 60), (long long)(s % 60));
}

/* Cores of a rank: those of its threads; ranks on GPUs share the cores of a node. */
static int64_t cores_of(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  int64_t threads = m->compiled->cluster.threads;
  if (m->launch->devices == 0) return threads;
  return job->cluster.cores > m->launch->devices ? job->cluster.cores / m->launch->devices : 1;
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
  const char *nodes = because(m, FIELD_cluster_nodes, "cluster.nodes");
  if (spares > 0)
    nodes = arena_printf(m->c->arena, "%s; and %lld of slurm.spares", nodes, (long long)spares);
  add(m, out, "--nodes", number(m, launch->nodes + spares), nodes);
  if (launch->needs_hosts) {
    add(m, out, "--nodelist", hosts_text(m), "cluster.types: each on its hosts, whole nodes");
    return;
  }
  add(m, out, "--ntasks-per-node", number(m, launch->node_ranks),
      because(m, FIELD_cluster_devices, "cluster.devices"));
  add(m, out, "--cpus-per-task", number(m, cores_of(m)),
      because(m, FIELD_cluster_cores, "cluster.cores / cluster.devices"));
  if (launch->devices > 0 && job->slurm.gpus != CHOICE_GPUS_NONE) {
    bool is_gres = job->slurm.gpus == CHOICE_GRES;
    const char *type =
        job->set[FIELD_slurm_gpu_type] ? arena_printf(m->c->arena, "%s:", job->slurm.gpu_type) : "";
    add(m, out, is_gres ? "--gres" : "--gpus-per-node",
        arena_printf(m->c->arena, "%s%s%lld", is_gres ? "gpu:" : "", type,
                     (long long)launch->devices),
        because(m, FIELD_cluster_devices, "cluster.devices"));
  }
  if (spares > 0)
    add(m, out, "--no-kill", NULL, "slurm.spares: a node may fail");
  else if (job->set[FIELD_slurm_elastic])
    add(m, out, "--no-kill", NULL, "slurm.elastic: a node may fail");
}

/* Segments of nodes that fit a block and divide the job. */
static void add_segment(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  if (!job->set[FIELD_slurm_block]) return;
  int64_t segment = m->launch->nodes < job->slurm.block ? m->launch->nodes : job->slurm.block;
  while (m->launch->nodes % segment != 0)
    segment--;
  add(m, &m->launch->directives, "--segment", number(m, segment),
      because(m, FIELD_slurm_block,
              arena_printf(m->c->arena, "divides %lld node%s, fits slurm.block",
                           (long long)m->launch->nodes, plural(m->launch->nodes))));
}

static void refuse_empty(const LaunchMaking *m, int32_t field, const char *key) {
  error_at(m->c, field_place(m->launch->job, field), "wrong-type", "%s is empty", key);
  fix_last(m->c, "leave %s out, for Slurm's default", key);
}

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
      add(m, &m->launch->directives, texts[i].option, texts[i].text,
          because(m, texts[i].field, texts[i].key));
    else if (job->set[texts[i].field])
      refuse_empty(m, texts[i].field, texts[i].key);
}

/* Hosts that take no ranks, whoever says so. */
static void add_exclude(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  const char *own = job->set[FIELD_slurm_exclude] ? job->slurm.exclude : NULL;
  const char *drained = m->launch->needs_hosts ? NULL : m->compiled->cluster.drained;
  const char *why = own ? because(m, FIELD_slurm_exclude, "slurm.exclude") : NULL;
  if (drained)
    why = arena_printf(m->c->arena, "%scluster.drained",
                       why ? arena_printf(m->c->arena, "%s; ", why) : "");
  if (why)
    add(m, &m->launch->directives, "--exclude",
        arena_printf(m->c->arena, "%s%s%s", own ? own : "", own && drained ? "," : "",
                     drained ? drained : ""),
        why);
}

/* ---- options that a job or a site adds */

static void add_pairs(const LaunchMaking *m, const PairList *pairs, bool is_step) {
  LaunchLines *out = is_step ? &m->launch->step : &m->launch->directives;
  const char *key = is_step ? "slurm.srun" : "slurm.sbatch";
  for (int32_t i = 0; i < pairs->count; i++) {
    const Pair *pair = &pairs->at[i];
    if (!option_allowed(m->c, pair, is_step) || pair->is_off) continue;
    const char *origin = library_text(m->c, origin_text(m->c->arena, &pair->origin));
    add(m, out, arena_printf(m->c->arena, "--%s", pair->name), pair->text,
        arena_printf(m->c->arena, "%s; %s", key, origin));
  }
}

/* A plan takes whole nodes, with their memory, unless the job says otherwise. */
static void add_whole_nodes(const LaunchMaking *m) {
  const PairList *own = &m->launch->job->slurm.sbatch;
  LaunchLines *out = &m->launch->directives;
  bool has_memory =
      find_pair(own, "mem") || find_pair(own, "mem-per-cpu") || find_pair(own, "mem-per-gpu");
  if (!find_pair(own, "exclusive") && !find_pair(own, "oversubscribe"))
    add(m, out, "--exclusive", NULL, "default; slurm.sbatch = { exclusive = false }");
  if (!has_memory) add(m, out, "--mem", "0", "default: all of a node; slurm.sbatch.mem");
  if (!find_pair(own, "export")) add(m, out, "--export", "ALL", "default; slurm.sbatch.export");
  if (m->launch->nodes + m->launch->job->slurm.spares > 1 && !find_pair(own, "wait-all-nodes"))
    add(m, out, "--wait-all-nodes", "1",
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

static void add_directives(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  LaunchLines *out = &m->launch->directives;
  const char *log =
      arena_printf(m->c->arena, "%s/slurm/%%j.log", without_patterns(m, job->log.dir));
  add(m, out, "--job-name", job->job.name, because(m, FIELD_job_name, "name"));
  add_sizes(m);
  add_segment(m);
  add(m, out, "--time", time_text(m, job->slurm.time.value),
      because(m, FIELD_slurm_time, "slurm.time"));
  add_texts(m);
  add_exclude(m);
  add_whole_nodes(m);
  add_pairs(m, &job->slurm.sbatch, false);
  add(m, out, job->slurm.requeue ? "--requeue" : "--no-requeue", NULL,
      because(m, FIELD_slurm_requeue, "slurm.requeue"));
  add(m, out, "--output", log, because(m, FIELD_log_dir, "log.dir"));
  add(m, out, "--open-mode", "append", "one log over all starts of the job");
}

/* ---- the step of the ranks */

/* Bit by bit, the lowest core first. */
typedef VEC(bool) Cores;

static void take_cores(const LaunchMaking *m, Cores *cores, int64_t first, int64_t last) {
  enum { CORES_MOST = 1 << 16 };
  while (cores->count <= last && cores->count < CORES_MOST)
    VEC_PUSH(m->c->arena, cores, false);
  for (int64_t core = first; core <= last && core < cores->count; core++)
    cores->at[core] = true;
}

/* "0-15,112-127" */
static void take_list(const LaunchMaking *m, Cores *cores, const char *list) {
  while (*list) {
    char *end;
    long first = strtol(list, &end, 10), last = first;
    if (*end == '-') last = strtol(end + 1, &end, 10);
    take_cores(m, cores, first, last);
    list = end + strspn(end, ",");
  }
}

/* "0xff00" */
static const char *mask_text(const LaunchMaking *m, const Cores *cores) {
  int32_t digits = (cores->count + 3) / 4;
  char *text = arena_alloc(m->c->arena, (size_t)digits + 3);
  memcpy(text, "0x", 2);
  for (int32_t i = 0; i < digits; i++) { /* the highest four cores first */
    int32_t low = (digits - 1 - i) * 4, digit = 0;
    for (int32_t bit = 0; bit < 4 && low + bit < cores->count; bit++)
      digit |= cores->at[low + bit] << bit;
    text[2 + i] = "0123456789abcdef"[digit];
  }
  text[2 + digits] = 0;
  return text;
}

/* The cores of a node's ranks, in order; NULL: a rank may use any core. */
static const char *masks_text(const LaunchMaking *m) {
  const Plan *plan = m->launch->plan;
  const char *text = "mask_cpu:";
  for (int64_t i = 0; i < m->launch->node_ranks; i++) {
    RankPlace place = plan_place(plan, (uint32_t)i);
    int64_t first = place.run->core_first + i * cores_of(m);
    const char *seat = place.seat ? plan_string(plan, place.seat->cores) : "";
    Cores cores = {0};
    if (*seat)
      take_list(m, &cores, seat);
    else if (place.seat)
      return NULL;
    else
      take_cores(m, &cores, first, first + cores_of(m) - 1);
    text = arena_printf(m->c->arena, "%s%s%s", text, i ? "," : "", mask_text(m, &cores));
  }
  return text;
}

/* Masks count the cores of a node as its system does: they hold where a node is the job's own, its
 * cores are known, and all nodes are alike. */
static void add_binding(const LaunchMaking *m) {
  const Launch *launch = m->launch;
  const Job *job = launch->job;
  const Pair *exclusive = find_pair(&job->slurm.sbatch, "exclusive");
  bool is_own = !(exclusive && exclusive->is_off) && !launch->needs_hosts;
  bool is_known =
      plan_place(launch->plan, 0).seat || launch->node_ranks * cores_of(m) <= job->cluster.cores;
  if (find_pair(&job->slurm.srun, "cpu-bind") || find_pair(&job->slurm.sbatch, "hint")) return;
  if (launch->node_ranks == 1 || !is_known || !is_own) return;
  const char *masks = masks_text(m);
  if (masks) add(m, &m->launch->step, "--cpu-bind", masks, "the plan's places");
}

/* Slurm shows a rank all GPUs of its node, unless the environment of who submits says otherwise. */
static void add_gpu_binding(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  bool is_asked = m->launch->devices > 0 && job->slurm.gpus != CHOICE_GPUS_NONE;
  if (!is_asked || m->launch->needs_hosts || find_pair(&job->slurm.srun, "gpu-bind") ||
      find_pair(&job->slurm.sbatch, "gpu-bind"))
    return;
  add(m, &m->launch->step, "--gpu-bind", "none", "a rank takes the plan's of its node's GPUs");
}

static const char *mounts_text(const LaunchMaking *m) {
  const TextList *mounts = &m->launch->job->slurm.mounts;
  const char *text = "";
  for (int32_t i = 0; i < mounts->count; i++)
    text = arena_printf(m->c->arena, "%s%s%s", text, i ? "," : "", mounts->at[i]);
  return text;
}

static void add_container(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  LaunchLines *out = &m->launch->step;
  if (!job->set[FIELD_slurm_container] || job->slurm.container_by != CHOICE_PYXIS) return;
  add(m, out, "--container-image", job->slurm.container,
      because(m, FIELD_slurm_container, "slurm.container"));
  if (job->slurm.mounts.count > 0)
    add(m, out, "--container-mounts", mounts_text(m),
        because(m, FIELD_slurm_mounts, "slurm.mounts"));
}

static void add_step(const LaunchMaking *m) {
  const Launch *launch = m->launch;
  LaunchLines *out = &m->launch->step;
  bool in_blocks = launch->hosts.count == 0;
  add(m, out, "--nodes", number(m, launch->nodes), "the plan's places");
  add(m, out, "--ntasks", number(m, launch->ranks), "the plan's ranks");
  if (in_blocks)
    add(m, out, "--ntasks-per-node", number(m, launch->node_ranks), "the plan's places");
  add(m, out, "--cpus-per-task", number(m, cores_of(m)),
      "repeated: srun does not take sbatch's everywhere");
  if (in_blocks)
    add(m, out, "--distribution", "block:block", "the plan's places");
  else
    add(m, out, "--distribution", "arbitrary", "hosts in the order of cluster.switches");
  add_binding(m);
  add_gpu_binding(m);
  add(m, out, "--mpi", launch->job->slurm.mpi, because(m, FIELD_slurm_mpi, "slurm.mpi"));
  add(m, out, "--kill-on-bad-exit", "0", "ranks end each other, and say why first");
  add(m, out, "--wait", "10", "ranks leave together: one that does not is stuck");
  add(m, out, "--export", "ALL", "whatever sbatch was told");
  add(m, out, "--unbuffered", NULL, "lines come as they are written");
  add_container(m);
  add_pairs(m, &launch->job->slurm.srun, true);
}

/* ---- environment */

static void add_environment(const LaunchMaking *m) {
  const PairList *own = &m->launch->job->slurm.env;
  LaunchLines *out = &m->launch->environment;
  if (!find_pair(own, "SLURM_PMIX_FENCE"))
    add(m, out, "SLURM_PMIX_FENCE", "ring",
        "default: the tree of Slurm 20.11 and later is no barrier on few nodes");
  if (m->launch->devices > 0 && !find_pair(own, "NCCL_DEBUG"))
    add(m, out, "NCCL_DEBUG", "WARN", "default");
  if (!find_pair(own, "OMP_NUM_THREADS"))
    add(m, out, "OMP_NUM_THREADS", "1", "default: the plan counts threads itself");
  if (m->launch->umask >= 0)
    add(m, out, "SLURM_UMASK", arena_printf(m->c->arena, "%04o", (unsigned)m->launch->umask),
        because(m, FIELD_slurm_umask, "slurm.umask"));
  for (int32_t i = 0; i < own->count; i++) {
    const Pair *pair = &own->at[i];
    const char *origin = library_text(m->c, origin_text(m->c->arena, &pair->origin));
    if (!pair->is_off)
      add(m, out, pair->name, pair->text, arena_printf(m->c->arena, "slurm.env; %s", origin));
  }
}

/* ---- the whole */

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

/* slurm.time from the long end of the expected time of all steps, where the job does not say it.
 * NULL: no time is expected either; reported. */
static const Job *with_time(const LaunchMaking *m, const Job *job) {
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
  launch->job = with_time(&m, job);
  if (launch->job == NULL) return NULL;
  environment_check(c, job);
  if (!list_hosts(&m) || !check_types(&m) || !read_umask(&m)) return NULL;
  add_directives(&m);
  if (!add_signal(&m)) return NULL;
  add_chain(&m);
  add_step(&m);
  add_environment(&m);
  check_version(&m);
  check_wrap(&m);
  check_site(&m);
  return compile_failed(c) ? NULL : launch;
}
