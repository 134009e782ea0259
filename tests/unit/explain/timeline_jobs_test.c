/* Pictures of compiled jobs end when the predicted step does, and show what runs beside
 * computation. LINK: job_plan explain runtime */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/draft/lane.h"
#include "compiler/show/explain/timeline.h"
#include "compiler/show/explain/timeline_boxes.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"

static char folder[] = "/tmp/lockstep_timeline.XXXXXX";

#define JOB(ranks, ...)                                                                            \
  {                                                                                                \
    {                                                                                              \
      "model.layers=4", "model.width=64", "model.heads=4", "model.positions=64",                   \
          "train.microbatch=1", "train.batch=24 sequences", "cluster=dgx-h100",                    \
          ("cluster.devices=" #ranks), __VA_ARGS__                                                 \
    }                                                                                              \
  }

typedef struct Case {
  JobChanges changes;
  uint32_t lanes; /* that the picture shows beside computation */
} Case;

enum { DP = 1 << LANE_DP, PP = 1 << LANE_PP, CP = 1 << LANE_CP };

static const Case cases[] = {
    {JOB(1, "parallel.zero=0"), 0},
    {JOB(2, "parallel.zero=0"), DP},
    {JOB(2, "parallel.zero=2"), DP},
    {JOB(2, "parallel.zero=3", "parallel.zero_prefetch=1", "memory.recompute=block"), DP},
    {JOB(2, "parallel.tp=2"), 0},
    {JOB(4, "parallel.cp=2"), CP | DP},
    {JOB(4, "parallel.pp=4", "parallel.zero=0"), PP},
    {JOB(2, "parallel.pp=2", "parallel.pipeline=zb-h1", "parallel.zero=0"), PP},
    {JOB(8, "parallel.pp=2", "parallel.tp=2", "parallel.zero=2"), PP | DP},
};

static int64_t predicted_ns(const Plan *plan) {
  int64_t most = 0;
  for (uint32_t i = 0; i < plan->programs_count; i++)
    if (plan->programs[i].kind == PROGRAM_TRAIN_STEP && plan->programs[i].predicted_ns > most)
      most = plan->programs[i].predicted_ns;
  return most;
}

static int64_t end_of(const Timeline *t) {
  int64_t end = 0;
  for (int32_t r = 0; r < t->row_count; r++)
    for (int32_t lane = 0; lane < PLAN_LANES_MAX; lane++) {
      const TimelineLane *l = &t->rows[r].lanes[lane];
      if (l->boxes.count > 0 && l->boxes.at[l->boxes.count - 1].end > end)
        end = l->boxes.at[l->boxes.count - 1].end;
    }
  return end;
}

/* Both ends of a transfer between two stages are at it at the same time. */
static void check_transfers(const Timeline *t) {
  const TimelineLane *a = &t->rows[0].lanes[LANE_PP], *b = &t->rows[1].lanes[LANE_PP];
  CHECK(a->boxes.count > 0);
  CHECK_INT(a->boxes.count, b->boxes.count);
  for (int32_t i = 0; i < a->boxes.count && i < b->boxes.count; i++) {
    CHECK_INT(a->boxes.at[i].start, b->boxes.at[i].start);
    CHECK_INT(a->boxes.at[i].end, b->boxes.at[i].end);
  }
}

static void check_case(const Case *c) {
  struct Arena *arena = arena_new();
  char path[80];
  Plan plan;
  (void)snprintf(path, sizeof path, "%s/plan", folder);
  bool done = job_plan("gpt2", &c->changes, path, &plan);
  (void)unlink(path);
  CHECK(done);
  if (!done) return;
  const Timeline *t = timeline_make(arena, &plan);
  uint32_t lanes = 0;
  for (int32_t i = 0; i < t->beside_count; i++)
    lanes |= 1U << t->beside[i];
  CHECK_INT(t->unit, UNIT_NS);
  CHECK(!t->is_stuck && predicted_ns(&plan) > 0);
  CHECK_INT(t->span, predicted_ns(&plan));
  CHECK_INT(end_of(t), predicted_ns(&plan));
  CHECK_INT(lanes, c->lanes);
  if ((lanes & PP) != 0 && t->row_count == 2) check_transfers(t);
  arena_free(arena);
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    TEST(cases[i].changes.text[8]) check_case(&cases[i]);
  (void)rmdir(folder);
  CHECK_DONE();
}
