/* judge_gpus.c -- judges the lines about GPUs of all nodes together. */
#include <inttypes.h>

#include "runtime/plan/plan_place.h"
#include "runtime/preflight/gpus.h"
#include "runtime/preflight/line.h"
#include "runtime/preflight/preflight.h"
#include "runtime/process/text.h"

enum { NODES_TO_COMPARE = 3 };
static const double SLOW_CLOCK = 0.95;

typedef struct GpuJudge {
  const Plan *plan;
  const Preflight *node;
  PreflightGpus *gpus; /* of each node */
  int64_t *rate;
  int32_t count, bad;
  FILE *out;
} GpuJudge;

static void say_bad(GpuJudge *j, int32_t node, const char *what) {
  fprintf(j->out, "bad %s: %s\n", j->node[node].node, what);
  j->bad++;
}

/* ---- reading */

static void read_gpu(const char *line, PreflightGpus *gpus) {
  int64_t number = number_of(line, "gpu ");
  if (number < 0 || number >= gpus->count) return;
  PreflightGpu *g = &gpus->gpu[number];
  *g = (PreflightGpu){.memory = number_of(line, " memory="),
                      .free = number_of(line, " free="),
                      .mhz = number_of(line, " mhz="),
                      .most_mhz = number_of(line, " most_mhz="),
                      .errors = number_of(line, " errors="),
                      .broken = number_of(line, " broken="),
                      .slowed = number_of(line, " slowed=")};
  rest_of(line, " fault=", g->fault, sizeof g->fault);
}

static void read_lines(const char *path, PreflightGpus *gpus) {
  char line[1024];
  FILE *file = fopen(path, "r");
  *gpus = (PreflightGpus){.count = -1};
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "gpus ", strlen("gpus ")) == 0) {
      gpus->count = (int32_t)number_of(line, " count=");
      if (gpus->count > GPUS_MOST) gpus->count = GPUS_MOST;
      rest_of(line, " absent=", gpus->absent, sizeof gpus->absent);
    }
    if (strncmp(line, "gpu ", strlen("gpu ")) == 0) read_gpu(line, gpus);
  }
  if (file != NULL) (void)fclose(file);
}

/* ---- one node */

/* If nodes differ, that of the smallest. */
static int32_t planned_gpus(const Plan *plan) {
  uint32_t least = UINT32_MAX;
  for (uint32_t i = 0; i < plan->places_count; i++) {
    const PlanPlace *run = &plan->places[i];
    uint32_t ranks = run->node_ranks < run->rank_count ? run->node_ranks : run->rank_count;
    if (ranks < least) least = ranks;
  }
  return (int32_t)least;
}

static uint64_t planned_bytes(const Plan *plan) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    uint64_t bytes = plan_arena_bytes(plan, &plan->classes[i], TIER_DEVICE);
    if (bytes > most) most = bytes;
  }
  return most;
}

static void check_gpu(GpuJudge *j, int32_t node, int32_t number) {
  const PreflightGpu *g = &j->gpus[node].gpu[number];
  char text[256], have[QUANTITY_BYTES], need[QUANTITY_BYTES];
  uint64_t bytes = planned_bytes(j->plan);
  if (g->fault[0]) {
    (void)snprintf(text, sizeof text, "GPU %" PRId32 ": %s", number, g->fault);
    say_bad(j, node, text);
    return;
  }
  if (g->free >= 0 && (uint64_t)g->free < bytes) {
    (void)snprintf(text, sizeof text, "GPU %" PRId32 ": %s of memory are free, %s are needed",
                   number, text_bytes(have, (double)g->free), text_bytes(need, (double)bytes));
    say_bad(j, node, text);
  }
  if (g->errors > 0) {
    (void)snprintf(text, sizeof text,
                   "GPU %" PRId32 ": uncorrected errors of its memory since the driver was loaded: "
                   "%" PRId64,
                   number, g->errors);
    say_bad(j, node, text);
  }
  if (g->broken > 0) {
    (void)snprintf(text, sizeof text,
                   "GPU %" PRId32 ": rows of its memory wait for a reset to be replaced, or cannot",
                   number);
    say_bad(j, node, text);
  }
  if (g->slowed > 0)
    fprintf(j->out, "slow %s: GPU %" PRId32 " is slowed down%s%s%s\n", j->node[node].node, number,
            g->slowed & GPU_HOT ? ", for it is hot" : "",
            g->slowed & GPU_POWER_BRAKE ? ", for its power is braked" : "",
            g->slowed & ~(GPU_HOT | GPU_POWER_BRAKE) ? ", by its board" : "");
}

static void check_node(GpuJudge *j, int32_t node) {
  const PreflightGpus *gpus = &j->gpus[node];
  int32_t planned = planned_gpus(j->plan);
  char text[256];
  if (gpus->count < 0) {
    (void)snprintf(text, sizeof text, "its GPUs cannot be looked at: %s", gpus->absent);
    say_bad(j, node, text);
    return;
  }
  if (gpus->count < planned) {
    (void)snprintf(text, sizeof text, "GPUs: %" PRId32 " are there, %" PRId32 " are needed",
                   gpus->count, planned);
    say_bad(j, node, text);
  }
  for (int32_t i = 0; i < gpus->count; i++)
    check_gpu(j, node, i);
}

/* ---- rates */

/* The clock of the slowest GPU of a node; 0: unknown. */
static int64_t clock_mhz(const PreflightGpus *gpus) {
  int64_t least = 0;
  for (int32_t i = 0; i < gpus->count; i++) {
    const PreflightGpu *g = &gpus->gpu[i];
    int64_t mhz = g->mhz > 0 ? g->mhz : g->most_mhz;
    if (mhz > 0 && (least == 0 || mhz < least)) least = mhz;
  }
  return least;
}

static int compare_rates(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void compare_clocks(const GpuJudge *j) {
  for (int32_t i = 0; i < j->count; i++)
    j->rate[i] = clock_mhz(&j->gpus[i]);
  qsort(j->rate, (size_t)j->count, sizeof *j->rate, compare_rates);
  int64_t middle = j->rate[j->count / 2];
  for (int32_t i = 0; i < j->count && j->count >= NODES_TO_COMPARE; i++) {
    int64_t own = clock_mhz(&j->gpus[i]);
    if (own > 0 && (double)own < SLOW_CLOCK * (double)middle)
      fprintf(j->out, "slow %s: its GPUs run at %" PRId64 " MHz, most nodes' at %" PRId64 " MHz\n",
              j->node[i].node, own, middle);
  }
}

/* ---- the whole */

/* A container may lack the library although ranks have their GPUs: if all nodes lack it, that is
 * only noted.
 */
static void judge_all(GpuJudge *j) {
  int32_t blind = 0;
  for (int32_t i = 0; i < j->count; i++)
    blind += j->gpus[i].count < 0;
  if (blind == j->count) {
    fprintf(j->out, "note all: GPUs were not looked at: %s\n", j->gpus[0].absent);
    return;
  }
  for (int32_t i = 0; i < j->count; i++)
    check_node(j, i);
  compare_clocks(j);
}

bool preflight_judge_gpus(const Plan *plan, const Preflight *node, char *const *paths,
                          int32_t count, FILE *out, int32_t *bad) {
  PreflightGpus *gpus = calloc((size_t)count, sizeof *gpus);
  int64_t *rate = calloc((size_t)count, sizeof *rate);
  GpuJudge j = {plan, node, gpus, rate, count, 0, out};
  bool good = gpus != NULL && rate != NULL;
  for (int32_t i = 0; good && i < count; i++)
    read_lines(paths[i], &gpus[i]);
  if (good) judge_all(&j);
  free(gpus);
  free(rate);
  *bad += j.bad;
  return good;
}
