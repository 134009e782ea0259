/* launch_step.c -- the srun that starts the ranks: where they are, their cores and GPUs, the
 * container. */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_place.h"
#include "slurm/launch_lines.h"

/* Bit by bit, the lowest core first. */
typedef VEC(bool) Cores;

static void take_cores(const LaunchMaking *m, Cores *cores, int64_t first, int64_t last) {
  enum { CORES_MOST = 1 << 16 };
  while (cores->count <= last && cores->count < CORES_MOST)
    VEC_PUSH(m->c->arena, cores, false);
  for (int64_t core = first < 0 ? 0 : first; core <= last && core < cores->count; core++)
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
    int64_t first = place.run->core_first + i * launch_cores(m);
    const char *seat = place.seat ? plan_string(plan, place.seat->cores) : "";
    Cores cores = {0};
    if (*seat)
      take_list(m, &cores, seat);
    else if (place.seat)
      return NULL;
    else
      take_cores(m, &cores, first, first + launch_cores(m) - 1);
    text = arena_printf(m->c->arena, "%s%s%s", text, i ? "," : "", mask_text(m, &cores));
  }
  return text;
}

/* Masks count the cores of a node as its system does: they hold where a node is the job's own, its
 * cores are known, and all nodes are alike. */
static void add_binding(const LaunchMaking *m) {
  const Launch *launch = m->launch;
  const Job *job = launch->job;
  const Pair *exclusive = launch_pair(&job->slurm.sbatch, "exclusive");
  bool is_own = !(exclusive && exclusive->is_off) && !launch->needs_hosts;
  bool is_known = plan_place(launch->plan, 0).seat ||
                  launch->node_ranks * launch_cores(m) <= job->cluster.cores;
  if (launch_pair(&job->slurm.srun, "cpu-bind") || launch_pair(&job->slurm.sbatch, "hint")) return;
  if (launch->node_ranks == 1 || !is_known || !is_own) return;
  const char *masks = masks_text(m);
  if (masks) launch_add(m, &m->launch->step, "--cpu-bind", masks, "the plan's places");
}

/* Slurm shows a rank all GPUs of its node, unless the environment of who submits says otherwise. */
static void add_gpu_binding(const LaunchMaking *m) {
  const Job *job = m->launch->job;
  bool is_asked = m->launch->devices > 0 && job->slurm.gpus != CHOICE_GPUS_NONE;
  if (!is_asked || m->launch->needs_hosts || launch_pair(&job->slurm.srun, "gpu-bind") ||
      launch_pair(&job->slurm.sbatch, "gpu-bind"))
    return;
  launch_add(m, &m->launch->step, "--gpu-bind", "none",
             "a rank takes the plan's of its node's GPUs");
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
  launch_add(m, out, "--container-image", job->slurm.container,
             launch_because(m, FIELD_slurm_container, "slurm.container"));
  if (job->slurm.mounts.count > 0)
    launch_add(m, out, "--container-mounts", mounts_text(m),
               launch_because(m, FIELD_slurm_mounts, "slurm.mounts"));
}

void launch_add_step(const LaunchMaking *m) {
  const Launch *launch = m->launch;
  LaunchLines *out = &m->launch->step;
  bool in_blocks = launch->hosts.count == 0;
  launch_add(m, out, "--nodes", launch_number(m, launch->nodes), "the plan's places");
  launch_add(m, out, "--ntasks", launch_number(m, launch->ranks), "the plan's ranks");
  if (in_blocks)
    launch_add(m, out, "--ntasks-per-node", launch_number(m, launch->node_ranks),
               "the plan's places");
  launch_add(m, out, "--cpus-per-task", launch_number(m, launch_cores(m)),
             "repeated: srun does not take sbatch's everywhere");
  if (in_blocks)
    launch_add(m, out, "--distribution", "block:block", "the plan's places");
  else
    launch_add(m, out, "--distribution", "arbitrary", "hosts in the order of cluster.switches");
  add_binding(m);
  add_gpu_binding(m);
  launch_add(m, out, "--mpi", launch->job->slurm.mpi,
             launch_because(m, FIELD_slurm_mpi, "slurm.mpi"));
  launch_add(m, out, "--kill-on-bad-exit", "0", "ranks end each other, and say why first");
  launch_add(m, out, "--wait", "10", "ranks leave together: one that does not is stuck");
  launch_add(m, out, "--export", "ALL", "the environment of the batch script");
  launch_add(m, out, "--unbuffered", NULL, "lines come as they are written");
  add_container(m);
  launch_add_pairs(m, &launch->job->slurm.srun, true);
}
