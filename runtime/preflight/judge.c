/* judge.c -- judges the lines of all nodes together. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/preflight/preflight.h"
#include "runtime/process/plural.h"
#include "runtime/process/text.h"

enum { SHM_LEAST_BYTES = 64 << 20, CLOCKS_APART_MS = 5000, NODES_TO_COMPARE = 3 };

typedef struct Judge {
  const Plan *plan;
  const PreflightAsked *asked;
  Preflight *node;
  int32_t count, bad;
  PartTotals save; /* of one checkpoint; 0: none is written */
  FILE *out;
} Judge;

/* The number after " NAME=". False: it is not there. */
static bool read_number(const char *line, const char *name, int base, uint64_t *number) {
  const char *at = strstr(line, name);
  char *end = NULL;
  if (at == NULL) return false;
  *number = (uint64_t)strtoll(at + strlen(name), &end, base);
  if (base == 16) *number = strtoull(at + strlen(name), &end, base);
  return end != at + strlen(name);
}

static bool parse_line(const char *line, Preflight *f) {
  const struct {
    const char *name;
    int base;
    void *to;
  } facts[] = {
      {" program=", 16, &f->program},   {" plan=", 16, &f->plan},       {" cores=", 10, &f->cores},
      {" memory=", 10, &f->memory},     {" memlock=", 10, &f->memlock}, {" shm=", 10, &f->shm},
      {" disk=", 10, &f->disk},         {" lacking=", 10, &f->lacking}, {" saved=", 10, &f->saved},
      {" clock_ms=", 10, &f->clock_ms}, {" mflops=", 10, &f->mflops}};
  const char *data = strstr(line, " data=");
  *f = (Preflight){0};
  (void)snprintf(f->node, sizeof f->node, "%.*s", (int)strcspn(line, " "), line);
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    uint64_t number;
    if (!read_number(line, facts[i].name, facts[i].base, &number)) return false;
    memcpy(facts[i].to, &number, sizeof number);
  }
  if (data != NULL) (void)snprintf(f->data, sizeof f->data, "%s", data + strlen(" data="));
  return data != NULL;
}

/* A library may have printed a warning before the line. The folders of checkpoints and of offload
 * have lines after it. */
static bool read_line(const char *path, Preflight *f) {
  char line[1024];
  bool is_there = false;
  FILE *file = fopen(path, "r");
  while (file != NULL && !is_there && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = 0;
    is_there = parse_line(line, f);
  }
  f->states.free_bytes = -1;
  while (is_there && fgets(line, sizeof line, file) != NULL)
    if (!disk_read_line(line, &f->checkpoints)) (void)offload_read_line(line, &f->states);
  if (file != NULL) (void)fclose(file);
  return is_there;
}

/* ---- what a node must have */

uint64_t preflight_node_bytes(const Plan *plan) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    uint64_t all = 0;
    for (Tier tier = 0; tier < Tier_COUNT; tier++)
      if (tier == TIER_HOST || (tier == TIER_DEVICE && job_target(plan) == TARGET_CPU))
        all += plan_arena_bytes(plan, &plan->classes[i], tier);
    if (all > most) most = all;
  }
  const PlanPlace *place = &plan->places[0];
  uint32_t ranks = place->node_ranks < place->rank_count ? place->node_ranks : place->rank_count;
  return most * ranks;
}

uint64_t preflight_locked_bytes(const Plan *plan) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < plan->classes_count && job_target(plan) != TARGET_CPU; i++) {
    const uint64_t bytes = plan_arena_bytes(plan, &plan->classes[i], TIER_HOST);
    if (bytes > most) most = bytes;
  }
  return most;
}

/* The parts of a checkpoint, times the number of checkpoints kept plus one, because the oldest is
 * removed only when the newest is complete. Those that a new one replaces need no further room. */
static uint64_t checkpoints_bytes(const Judge *j, const Preflight *f) {
  int64_t more = job_checkpoint_keep(j->plan) + 1 - f->saved;
  return (uint64_t)j->save.bytes * (uint64_t)(more < 1 ? 1 : more);
}

static void say_bad(Judge *j, const Preflight *f, const char *what) {
  fprintf(j->out, "bad %s: %s\n", f->node, what);
  j->bad++;
}

static void check_quantity(Judge *j, const Preflight *f, int64_t have, uint64_t need,
                           const char *what) {
  char text[256], have_text[QUANTITY_BYTES], need_text[QUANTITY_BYTES];
  if (have < 0) {
    (void)snprintf(text, sizeof text, "%s cannot be looked at", what);
    say_bad(j, f, text);
  } else if ((uint64_t)have < need) {
    (void)snprintf(text, sizeof text, "%s: %s are free, %s are needed", what,
                   text_bytes(have_text, (double)have), text_bytes(need_text, (double)need));
    say_bad(j, f, text);
  }
}

/* Cores that the ranks of a node use together; if nodes differ, on the smallest. */
static int64_t planned_cores(const Plan *plan) {
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < plan->places_count; i++) {
    const PlanPlace *run = &plan->places[i];
    uint32_t ranks = run->node_ranks < run->rank_count ? run->node_ranks : run->rank_count;
    int64_t cores = (int64_t)ranks * run->core_count;
    if (cores < least) least = cores;
  }
  return least;
}

/* The disk of offload.path, where the plan has states in files. */
static void check_states(Judge *j, const Preflight *f) {
  const OffloadDisk *disk = &f->states;
  const uint64_t need = offload_node_bytes(j->plan);
  if (need == 0) return;
  if (disk->why[0] != '\0') {
    say_bad(j, f, disk->why);
    return;
  }
  check_quantity(j, f, disk->free_bytes, need, "the file system of offload.path");
  if (disk->apart[0] != '\0')
    fprintf(j->out, "slow %s: offload.path is %s; states belong on a disk of the node\n", f->node,
            disk->apart);
  if (!disk->is_direct)
    fprintf(j->out, "slow %s: offload.path has no O_DIRECT: pages pass through memory\n", f->node);
}

/* A warning: most drivers do not count what is locked for a GPU. */
static void check_locked(const Judge *j, const Preflight *f) {
  char may[QUANTITY_BYTES], need[QUANTITY_BYTES];
  const uint64_t locked = preflight_locked_bytes(j->plan);
  if (f->memlock < 0 || locked <= (uint64_t)f->memlock) return;
  fprintf(j->out,
          "note %s: a rank locks %s of host memory for its GPU, and ulimit -l is %s: a driver "
          "that counts it refuses\n",
          f->node, text_bytes(need, (double)locked), text_bytes(may, (double)f->memlock));
}

static void check_node(Judge *j, const Preflight *f) {
  uint64_t saved_bytes = j->save.bytes > 0 ? checkpoints_bytes(j, f) : 0;
  uint64_t memory = preflight_node_bytes(j->plan);
  if (f->checkpoints.in_memory) memory += saved_bytes;
  if (f->lacking > 0) {
    char text[128];
    (void)snprintf(text, sizeof text, "%lld device%s of the plan's places %s not on it",
                   (long long)f->lacking, plural(f->lacking), plural_is(f->lacking));
    say_bad(j, f, text);
  }
  if (f->cores < planned_cores(j->plan))
    fprintf(j->out, "slow %s: %" PRId64 " cores, the plan counts on %" PRId64 "\n", f->node,
            f->cores, planned_cores(j->plan));
  if (f->memory > 0)
    check_quantity(j, f, f->memory, memory,
                   f->checkpoints.in_memory ? "memory, with checkpoints in tmpfs" : "memory");
  check_locked(j, f);
  check_states(j, f);
  check_quantity(j, f, f->shm, SHM_LEAST_BYTES, "/dev/shm");
  if (j->save.bytes > 0)
    check_quantity(j, f, f->disk, saved_bytes, "the file system of checkpoints");
  if (j->save.bytes > 0 && f->checkpoints.why[0] != '\0') say_bad(j, f, f->checkpoints.why);
}

/* ---- facts that must be equal on all nodes */

static int compare_numbers(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t median(const Judge *j, int64_t (*value)(const Preflight *)) {
  int64_t *all = malloc(sizeof *all * (size_t)j->count);
  if (all == NULL) return 0;
  for (int32_t i = 0; i < j->count; i++)
    all[i] = value(&j->node[i]);
  qsort(all, (size_t)j->count, sizeof *all, compare_numbers);
  int64_t middle = all[j->count / 2];
  free(all);
  return middle;
}

static int64_t rate_of(const Preflight *f) {
  return f->mflops;
}
static int64_t disk_of(const Preflight *f) {
  return f->states.read_mbs < f->states.write_mbs ? f->states.read_mbs : f->states.write_mbs;
}
static int64_t clock_of(const Preflight *f) {
  return f->clock_ms;
}

/* The program that most nodes have; in a tie, the first node's. */
static uint64_t common_program(const Judge *j) {
  int32_t most = 0;
  uint64_t common = 0;
  for (int32_t i = 0; i < j->count; i++) {
    int32_t same = 0;
    for (int32_t k = 0; k < j->count; k++)
      same += j->node[k].program == j->node[i].program;
    if (same > most) most = same, common = j->node[i].program;
  }
  return common;
}

static void compare_nodes(Judge *j) {
  uint64_t program = common_program(j);
  int64_t rate = median(j, rate_of), clock = median(j, clock_of), disk = median(j, disk_of);
  for (int32_t i = 0; i < j->count; i++) {
    const Preflight *f = &j->node[i];
    if (f->program != program) say_bad(j, f, "another lockstep-rank than most nodes");
    if (f->plan != j->plan->id) say_bad(j, f, "another plan");
    if (llabs(f->clock_ms - clock) > CLOCKS_APART_MS) say_bad(j, f, "its clock is off by seconds");
    if (j->count >= NODES_TO_COMPARE && f->mflops < rate / 2)
      fprintf(j->out, "slow %s: matrix products at %" PRId64 " %% of the middle node's rate\n",
              f->node, rate > 0 ? 100 * f->mflops / rate : 0);
    if (j->count >= NODES_TO_COMPARE && disk_of(f) < disk / 2)
      fprintf(j->out,
              "slow %s: the disk of offload.path at %" PRId64 " %% of the middle node's rate\n",
              f->node, 100 * disk_of(f) / disk);
  }
}

/* Data that no node can read are a mistake of the job; if only some cannot, it is theirs. */
static bool check_data(Judge *j, Status *status) {
  int32_t blind = 0;
  for (int32_t i = 0; i < j->count; i++)
    blind += j->node[i].data[0] != 0;
  if (blind == j->count) {
    fprintf(j->out, "all: %s\n", j->node[0].data);
    return status_fail(status, STATUS_USER, "%s", j->node[0].data);
  }
  for (int32_t i = 0; i < j->count; i++)
    if (j->node[i].data[0]) say_bad(j, &j->node[i], j->node[i].data);
  return true;
}

/* Files of one stripe lie on one server, whose rate is then that of a large part. */
static void note_stripes(const Judge *j) {
  static const int64_t large_bytes = (int64_t)10e9;
  char size[QUANTITY_BYTES];
  const char *folder = job_checkpoint_dir(j->plan);
  if (j->save.largest_bytes <= large_bytes || disk_stripes(folder) != 1) return;
  fprintf(j->out,
          "note all: parts of checkpoints have up to %s, and files in %s have one stripe: lfs "
          "setstripe -c 8 %s spreads them over servers\n",
          text_bytes(size, (double)j->save.largest_bytes), folder, folder);
}

static bool judge_nodes(Judge *j, char *const *paths, Status *status) {
  bool saves = job_checkpoint_every_steps(j->plan) > 0 || job_checkpoint_every_s(j->plan) > 0;
  if (!check_data(j, status)) return false;
  if (saves && !disk_totals(j->plan, &j->save))
    return status_fail(status, STATUS_WORLD, "not enough memory");
  for (int32_t i = 0; i < j->count; i++)
    check_node(j, &j->node[i]);
  compare_nodes(j);
  note_stripes(j);
  if (!preflight_judge_network(j->plan, j->node, paths, j->count, j->out, &j->bad) ||
      (j->asked->is_full &&
       !preflight_judge_full(j->plan, j->asked, j->node, paths, j->count, j->out, &j->bad)))
    return status_fail(status, STATUS_WORLD, "not enough memory");
  return j->bad == 0 ||
         status_fail(status, STATUS_WORLD, "%d of %d node%s %s not fit for the plan",
                     j->bad < j->count ? j->bad : j->count, j->count, plural(j->count),
                     plural_is(j->bad < j->count ? j->bad : j->count));
}

bool preflight_judge(const Plan *plan, const PreflightAsked *asked, char *const *paths,
                     int32_t count, FILE *out, Status *status) {
  Preflight *node = calloc((size_t)count, sizeof *node);
  Judge judge = {.plan = plan, .asked = asked, .node = node, .count = count, .out = out};
  if (node == NULL) return status_fail(status, STATUS_WORLD, "not enough memory");
  bool good = true;
  for (int32_t i = 0; good && i < count; i++)
    good = read_line(paths[i], &node[i]) ||
           status_fail(status, STATUS_WORLD, "%s: is no report of a node before a run", paths[i]);
  good = good && judge_nodes(&judge, paths, status);
  free(node);
  return good;
}
