/* edges_test.c -- an edge that `ordering` needs is needed: without it the proof refuses the plan,
 * and a run of it on queues that are threads, each waiting at random before its works, comes to
 * other losses or norms than the plan.
 *
 * Not every edge shows in a number: the record that no longer waits must overtake the one that it
 * waited for, and what it reads or destroys must matter. A weight that is gathered a second time in
 * a step overwrites itself with the same bytes: of the waits that keep it from doing so too early,
 * those of sharded weights, no number tells. So a share is asked for: 40 % of a few edges within 8
 * runs each, 70 % of all within 100.
 *
 *   parity_edges_test              a few edges of each strategy
 *   parity_edges_test all [TRIES]  every edge, TRIES (100) times */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "runtime/replay/hostile.h"
#include "tests/parity/fleet.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { STEPS = 2, FEW = 4, TRIES = 8, TRIES_ALL = 100, SEEN_PERCENT = 40, SEEN_PERCENT_ALL = 70 };
enum { DELAY_MOST_NS = 400000 };

typedef struct Strategy {
  const char *name;
  JobChanges changes;
} Strategy;

#define TINY "model.layers=2", "model.width=16", "model.heads=2", "model.positions=16"
#define JOB(name, ...)                                                                             \
  {                                                                                                \
    name, {                                                                                        \
      {                                                                                            \
        TINY, "cluster=here", "cluster.devices=2", "train.microbatch=1",                           \
            "train.batch=4 sequences", __VA_ARGS__                                                 \
      }                                                                                            \
    }                                                                                              \
  }
static const Strategy strategies[] = {
    JOB("zero 0", "parallel.zero=0"),
    JOB("zero 3", "parallel.zero=3", "parallel.zero_keep=1KiB", "parallel.zero_prefetch=1"),
    JOB("ring", "parallel.cp=2", "parallel.zero=0"),
    JOB("pipeline", "parallel.pp=2", "parallel.pipeline=1f1b"),
};

typedef struct Seen {
  int32_t edges, seen, tries;
} Seen;

typedef struct Trial {
  Plan plan; /* with tables that may be changed */
  FleetRank want[FLEET_RANKS_MAX], got[FLEET_RANKS_MAX];
  int32_t tries_most;
  Seen sum;
} Trial;

static void look(void *context, const Fleet *fleet, int64_t step) {
  (void)step;
  *(int32_t *)context = fleet_rank_count(fleet);
}

static bool run(Trial *t, FleetRank ranks[FLEET_RANKS_MAX], uint64_t seed, int32_t *count) {
  FleetQueues queues = {true, DELAY_MOST_NS, seed};
  return fleet_run(&t->plan, STEPS, queues, look, count, ranks);
}

/* A NaN is another number. */
static bool is_other(double a, double b) {
  return !(a == b);
}

/* Losses and norms of all steps and ranks. */
static bool is_same(const Trial *t, int32_t count) {
  for (int32_t r = 0; r < count; r++)
    for (int32_t step = 1; step <= STEPS; step++)
      if (is_other(t->got[r].loss[step], t->want[r].loss[step]) ||
          is_other(t->got[r].norm[step], t->want[r].norm[step]))
        return false;
  return true;
}

static bool is_refused(const Plan *plan) {
  static ProveReport report;
  bool proven = prove(plan, &report), race = false;
  for (uint32_t i = 0; !proven && i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
    race |= strstr(report.finding[i], "ordering") != NULL;
  return race;
}

/* The plan lacks an edge now, of which `name` is the record that no longer waits. */
static void try_without(Trial *t, const char *what, uint32_t name) {
  int32_t count = 0, tries = 0;
  bool seen = false;
  CHECK(is_refused(&t->plan));
  while (!seen && tries < t->tries_most) {
    if (!run(t, t->got, (uint64_t)++tries, &count)) break; /* it has been printed */
    seen = !is_same(t, count);
  }
  t->sum.edges++, t->sum.seen += seen, t->sum.tries += tries;
  if (!seen) printf("  not seen: %s %s\n", what, plan_string(&t->plan, name));
}

static void *copied(const void *table, size_t bytes) {
  void *copy = malloc(bytes + 1);
  if (copy == NULL) abort();
  return memcpy(copy, table, bytes);
}

/* Leaves out every `stride`th edge inside a segment, one at a time. */
static void try_edges(Trial *t, PlanRecord *records, PlanEdge *edges, uint32_t stride) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < t->plan.records_count; i++) {
    const PlanRecord was = records[i];
    for (uint32_t e = 0; e < was.after_count; e++) { /* the last one takes the place of edge e */
      if (number++ % stride != stride / 2) continue;
      PlanEdge *edge = &edges[was.after_first + e], left_out = *edge;
      *edge = edges[was.after_first + was.after_count - 1];
      records[i].after_count--;
      try_without(t, "edge to", was.path);
      records[i] = was;
      *edge = left_out;
    }
  }
}

/* The segment of the call that has the wait. */
static uint32_t waiting(const Plan *plan, uint32_t wait) {
  uint32_t call = 0;
  while (wait - plan->calls[call].waits_first >= plan->calls[call].waits_count)
    call++;
  return plan->segments[plan->calls[call].segment].name;
}

/* As above, of the waits between calls. A lane without records waits for nothing. */
static void try_waits(Trial *t, PlanWait *waits, uint32_t stride) {
  const Plan before = t->plan;
  PlanLane lanes[PLAN_LANES_MAX];
  uint32_t nowhere = build_idle_lane(&t->plan, lanes);
  for (uint32_t i = stride / 2; i < t->plan.waits_count; i += stride) {
    const PlanWait was = waits[i];
    waits[i].lane = nowhere;
    try_without(t, "wait of", waiting(&t->plan, i));
    waits[i] = was;
  }
  t->plan = before;
}

static uint32_t stride_of(uint32_t count, uint32_t few) {
  return few == 0 || count <= few ? 1 : (count + few - 1) / few;
}

static void try_strategy(Trial *t, const Plan *plan, uint32_t few) {
  int32_t count = 0;
  PlanRecord *records = copied(plan->records, sizeof *records * plan->records_count);
  PlanEdge *edges = copied(plan->edges, sizeof *edges * plan->edges_count);
  PlanWait *waits = copied(plan->waits, sizeof *waits * plan->waits_count);
  t->plan = *plan;
  t->plan.records = records, t->plan.edges = edges, t->plan.waits = waits;
  t->sum = (Seen){0};
  CHECK(run(t, t->want, 0, &count) && run(t, t->got, 1, &count) && is_same(t, count));
  try_edges(t, records, edges, stride_of(plan->edges_count, few));
  try_waits(t, waits, stride_of(plan->waits_count, few));
  free(records), free(edges), free(waits);
}

static Seen try_all(int32_t tries, uint32_t few) {
  static Trial trial;
  Seen all = {0};
  char path[64];
  (void)snprintf(path, sizeof path, "/tmp/lockstep_edges_%d.plan", (int)getpid());
  for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
    Plan plan;
    bool planned = job_plan("gpt2", &strategies[i].changes, path, &plan);
    (void)unlink(path);
    CHECK(planned);
    if (!planned) continue;
    trial = (Trial){.tries_most = tries};
    try_strategy(&trial, &plan, few);
    plan_close(&plan);
    const Seen *sum = &trial.sum;
    printf("%-10s %3d edges left out, %3d seen, %d runs\n", strategies[i].name, sum->edges,
           sum->seen, sum->tries);
    all.edges += sum->edges, all.seen += sum->seen, all.tries += sum->tries;
  }
  return all;
}

#ifdef __SANITIZE_THREAD__
enum { RACES_END_IT = 1 };
#else
enum { RACES_END_IT = 0 };
#endif

int main(int count, char **arguments) {
  if (HOSTILE_RUNS_ALONE) {
    printf("skipped: in this build ranks have one queue\n");
    return 77;
  }
  if (RACES_END_IT) {
    printf("skipped: the thread sanitizer reports the races that are made here\n");
    return 77;
  }
  bool every = count > 1 && strcmp(arguments[1], "all") == 0;
  int32_t tries = !every ? TRIES : count > 2 ? atoi(arguments[2]) : TRIES_ALL;
  int32_t percent = every ? SEEN_PERCENT_ALL : SEEN_PERCENT;
  TEST("an edge that is left out is refused, and seen when the plan runs without it") {
    Seen all = try_all(tries, every ? 0 : FEW);
    printf("%d of %d seen\n", all.seen, all.edges);
    CHECK(all.edges > 0 && all.seen * 100 >= all.edges * percent);
  }
  CHECK_DONE();
}
