/* judge_full.c -- judges the full checks of all nodes together. */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/preflight/full.h"
#include "runtime/preflight/line.h"
#include "runtime/process/text.h"

enum { NODES_TO_COMPARE = 3, RATE_DISK_BYTES = 64 << 20 };
static const double SLOW_CORES = 0.8, SLOW_DISK = 0.5;

typedef struct FullJudge {
  const Plan *plan;
  const PreflightAsked *asked;
  const Preflight *node;
  Full *full;
  int64_t *rate; /* room to sort in */
  int32_t count, bad;
  FILE *out;
} FullJudge;

static void say_bad(FullJudge *j, int32_t node, const char *what) {
  fprintf(j->out, "bad %s: %s\n", j->node[node].node, what);
  j->bad++;
}

/* ---- reading */

static bool parse_line(const char *line, Full *f) {
  const struct {
    const char *name;
    int64_t *to;
  } facts[] = {
      {" memory=", &f->memory},     {" memory_wrong=", &f->memory_wrong}, {" disk=", &f->disk},
      {" disk_mbs=", &f->disk_mbs}, {" disk_wrong=", &f->disk_wrong},     {" mflops=", &f->mflops},
      {" down=", &f->down}};
  char samples[32];
  if (strncmp(line, "full ", strlen("full ")) != 0 || strstr(line, " fault=") == NULL) return false;
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    if ((*facts[i].to = number_of(line, facts[i].name)) < 0) return false;
  word_of(line, " samples=", samples, sizeof samples);
  f->samples = strtoull(samples, NULL, 16);
  word_of(line, " driver=", f->driver, sizeof f->driver);
  word_of(line, " ports=", f->ports, sizeof f->ports);
  rest_of(line, " fault=", f->fault, sizeof f->fault);
  return true;
}

static bool read_line(const char *path, Full *f) {
  char line[1024];
  bool is_there = false;
  FILE *file = fopen(path, "r");
  while (file != NULL && !is_there && fgets(line, sizeof line, file) != NULL)
    is_there = parse_line(line, f);
  if (file != NULL) (void)fclose(file);
  return is_there;
}

/* ---- one node */

static void check_bytes(FullJudge *j, int32_t node, int64_t wrong, int64_t bytes,
                        const char *what) {
  char text[200], size[QUANTITY_BYTES];
  if (wrong == 0) return;
  (void)snprintf(text, sizeof text, "%s: words that come back otherwise: %lld, of %s", what,
                 (long long)wrong, text_bytes(size, (double)bytes));
  say_bad(j, node, text);
}

static void check_node(FullJudge *j, int32_t node) {
  const Full *f = &j->full[node];
  char text[100];
  if (f->fault[0]) say_bad(j, node, f->fault);
  check_bytes(j, node, f->memory_wrong, f->memory, "memory");
  check_bytes(j, node, f->disk_wrong, f->disk, "the file system of checkpoints");
  if (f->down == 0) return;
  (void)snprintf(text, sizeof text, "NICs of the plan's places that are not up: %lld",
                 (long long)f->down);
  say_bad(j, node, text);
}

/* ---- facts that must be equal on all nodes */

static uint64_t samples_of(const Full *f) {
  return f->samples;
}
static uint64_t hash_of(const char *text) {
  uint64_t hash = 14695981039346656037u;
  for (; *text; text++)
    hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  return hash;
}
static uint64_t ports_of(const Full *f) {
  return hash_of(f->ports);
}
static uint64_t driver_of(const Full *f) {
  return hash_of(f->driver);
}

/* A node that has what most nodes have; in a tie, the first. */
static int32_t common_node(const FullJudge *j, uint64_t (*value)(const Full *)) {
  int32_t most = 0, common = 0;
  for (int32_t i = 0; i < j->count; i++) {
    int32_t same = 0;
    for (int32_t k = 0; k < j->count; k++)
      same += value(&j->full[k]) == value(&j->full[i]);
    if (same > most) most = same, common = i;
  }
  return common;
}

static void compare(FullJudge *j) {
  char text[2 * FULL_PORTS_BYTES + 100];
  const Full *samples = &j->full[common_node(j, samples_of)];
  const Full *ports = &j->full[common_node(j, ports_of)];
  const Full *driver = &j->full[common_node(j, driver_of)];
  for (int32_t i = 0; i < j->count; i++) {
    const Full *f = &j->full[i];
    if (f->samples != samples->samples && !f->fault[0])
      say_bad(j, i, "it reads other data than most nodes");
    (void)snprintf(text, sizeof text, "driver %s; most nodes have %s", f->driver, driver->driver);
    if (job_target(j->plan) != TARGET_CPU && driver_of(f) != driver_of(driver)) say_bad(j, i, text);
    (void)snprintf(text, sizeof text, "network ports %s; most nodes have %s", f->ports,
                   ports->ports);
    if (ports_of(f) != ports_of(ports)) fprintf(j->out, "slow %s: %s\n", j->node[i].node, text);
  }
}

/* ---- rates */

static int64_t cores_rate(const Full *f) {
  return f->mflops;
}
static int64_t disk_rate(const Full *f) {
  return f->disk >= RATE_DISK_BYTES ? f->disk_mbs : 0;
}

static int compare_rates(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void judge_rate(const FullJudge *j, int64_t (*value)(const Full *), double share,
                       const char *what) {
  for (int32_t i = 0; i < j->count; i++)
    j->rate[i] = value(&j->full[i]);
  qsort(j->rate, (size_t)j->count, sizeof *j->rate, compare_rates);
  int64_t middle = j->rate[j->count / 2];
  for (int32_t i = 0; i < j->count && j->count >= NODES_TO_COMPARE; i++) {
    int64_t own = value(&j->full[i]);
    if (own > 0 && (double)own < share * (double)middle)
      fprintf(j->out, "slow %s: %s at %lld %% of the middle node's rate\n", j->node[i].node, what,
              (long long)(100 * own / middle));
  }
}

/* All nodes write at once, as for a checkpoint. */
static void judge_write(const FullJudge *j) {
  char rate[QUANTITY_BYTES], wanted[QUANTITY_BYTES];
  double all_bs = 0;
  for (int32_t i = 0; i < j->count; i++)
    all_bs += (double)disk_rate(&j->full[i]) * 1e6;
  if (all_bs > 0 && all_bs < j->asked->write_bs)
    fprintf(j->out, "slow all: checkpoints are written at %s/s; slurm.write counts on %s/s\n",
            text_bytes(rate, all_bs), text_bytes(wanted, j->asked->write_bs));
}

bool preflight_judge_full(const Plan *plan, const PreflightAsked *asked, const Preflight *node,
                          char *const *paths, int32_t count, FILE *out, int32_t *bad) {
  Full *full = calloc((size_t)count, sizeof *full);
  int64_t *rate = calloc((size_t)count, sizeof *rate);
  FullJudge j = {plan, asked, node, full, rate, count, 0, out};
  bool good = full != NULL && rate != NULL, is_whole = true;
  for (int32_t i = 0; good && i < count; i++) {
    bool is_there = read_line(paths[i], &full[i]);
    is_whole = is_whole && is_there;
    if (!is_there)
      say_bad(&j, i, "it has not come to the end of its look");
    else
      check_node(&j, i);
  }
  if (good && is_whole) {
    compare(&j);
    judge_rate(&j, cores_rate, SLOW_CORES, "all its cores together");
    judge_rate(&j, disk_rate, SLOW_DISK, "writing of checkpoints");
    judge_write(&j);
  }
  if (good && is_whole && job_target(plan) != TARGET_CPU)
    good = preflight_judge_gpus(plan, node, paths, count, out, &j.bad);
  free(full);
  free(rate);
  *bad += j.bad;
  return good;
}
