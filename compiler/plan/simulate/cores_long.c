/* cores_long.c -- loops of many iterations, most of which the walk of cores.c leaves out.
 *
 * A long loop is walked three times, to WALKED iterations, to PERIOD fewer and to 2 PERIOD fewer.
 * If both differences are equal, iterations are steady, and those that are left out take what the
 * last ones took; else twice as many are walked. */
#include <math.h>
#include <string.h>

#include "compiler/plan/simulate/cores.h"

enum { WALKED = 96, PERIOD = 32 };

/* Adds the time of `rest` iterations. PERIOD iterations take the difference between `longer` and
 * `shorter`. */
static void add_rest(int64_t *to, int64_t longer, int64_t shorter, int64_t rest) {
  *to += (int64_t)((double)(longer - shorter) * (double)rest / PERIOD);
}

static void add_iterations(LaneTimes *to, const LaneTimes *longer, const LaneTimes *shorter,
                           int64_t rest) {
  add_rest(&to->span_ns, longer->span_ns, shorter->span_ns, rest);
  add_rest(&to->exposed_ns, longer->exposed_ns, shorter->exposed_ns, rest);
  add_rest(&to->apart_ns, longer->apart_ns, shorter->apart_ns, rest);
  for (int32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    add_rest(&to->busy_ns[lane], longer->busy_ns[lane], shorter->busy_ns[lane], rest);
  LaneParts *parts = &to->parts;
  add_rest(&parts->compute_ns, longer->parts.compute_ns, shorter->parts.compute_ns, rest);
  add_rest(&parts->bubble_ns, longer->parts.bubble_ns, shorter->parts.bubble_ns, rest);
  for (uint32_t axis = 0; axis <= PLAN_AXES_MAX; axis++)
    add_rest(&parts->exposed_ns[axis], longer->parts.exposed_ns[axis],
             shorter->parts.exposed_ns[axis], rest);
}

/* True if PERIOD iterations take as long as the PERIOD before them, on every class. */
static bool is_steady(const LaneTimes *last, const LaneTimes *middle, const LaneTimes *first,
                      uint32_t classes) {
  const double tolerance = 1e-3;
  for (uint32_t c = 0; c < classes; c++) {
    const double late = (double)(last[c].span_ns - middle[c].span_ns);
    const double early = (double)(middle[c].span_ns - first[c].span_ns);
    if (fabs(late - early) > tolerance * fmax(fabs(late), fabs(early)) + 1) return false;
  }
  return true;
}

/* Loops of equal times are of equal work in all classes, and are shortened together. */
typedef struct LongLoops {
  Arena *arena;
  const Plan *plan;
  ProgramKind kind;
  const RankCores *cores;
  uint32_t *walked; /* by loop */
} LongLoops;

static LaneTimes *walk_short(const LongLoops *l, uint32_t times, uint32_t less) {
  for (uint32_t i = 0; i < l->plan->loops_count; i++)
    if (l->plan->loops[i].times == times) l->walked[i] -= less;
  LaneTimes *result = cores_walk(l->arena, l->plan, l->kind, l->cores, NULL, l->walked);
  for (uint32_t i = 0; i < l->plan->loops_count; i++)
    if (l->plan->loops[i].times == times) l->walked[i] += less;
  return result;
}

/* The number of times of the longest loops that are not walked whole; 0: there are none. */
static uint32_t next_long(const LongLoops *l, uint32_t below) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < l->plan->loops_count; i++) {
    const uint32_t times = l->plan->loops[i].times;
    if (times > l->walked[i] && times < below && times > most) most = times;
  }
  return most;
}

/* NULL: some loop is not steady. */
static LaneTimes *extend(const LongLoops *l) {
  const uint32_t classes = l->plan->classes_count;
  LaneTimes *all = walk_short(l, 0, 0), *times = ARENA_ARRAY(l->arena, LaneTimes, classes + 1);
  memcpy(times, all, classes * sizeof *times);
  for (uint32_t of = UINT32_MAX; (of = next_long(l, of)) > 0;) {
    const LaneTimes *middle = walk_short(l, of, PERIOD), *first = walk_short(l, of, 2 * PERIOD);
    uint32_t walked = 0;
    if (!is_steady(all, middle, first, classes)) return NULL;
    for (uint32_t i = 0; i < l->plan->loops_count; i++)
      if (l->plan->loops[i].times == of) walked = l->walked[i];
    for (uint32_t c = 0; c < classes; c++)
      add_iterations(&times[c], &all[c], &middle[c], (int64_t)of - walked);
  }
  return times;
}

LaneTimes *cores_simulate(Arena *arena, const Plan *plan, ProgramKind kind, const RankCores *cores,
                          const StretchSink *sink) {
  uint32_t longest = 0;
  for (uint32_t i = 0; i < plan->loops_count; i++)
    longest = plan->loops[i].times > longest ? plan->loops[i].times : longest;
  LongLoops l = {.arena = arena, .plan = plan, .kind = kind, .cores = cores};
  l.walked = ARENA_ARRAY(arena, uint32_t, plan->loops_count + 1);
  for (uint64_t most = WALKED; sink == NULL && most < longest; most *= 2) {
    for (uint32_t i = 0; i < plan->loops_count; i++)
      l.walked[i] = plan->loops[i].times < most ? plan->loops[i].times : (uint32_t)most;
    LaneTimes *times = extend(&l);
    if (times != NULL) return times;
  }
  return cores_walk(arena, plan, kind, cores, sink, NULL);
}
