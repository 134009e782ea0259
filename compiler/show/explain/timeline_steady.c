/* timeline_steady.c -- the period that a pipeline repeats in the middle of a step, drawn once.
 *
 * In the steady state every row computes the same again a period later, for later micro-batches.
 * Boxes that have no counterpart a period later, or earlier, end that state: the longest time
 * without such boxes holds the repetitions. Lanes beside computation follow: there two transfers
 * are one box where they touch, in one period and not in another. */
#include <stdlib.h>

#include "compiler/show/explain/timeline_boxes.h"

enum { SHIFTS_MOST = 64, REPEATS_LEAST = 4 };

typedef struct Shift {
  int64_t period;
  int32_t microbatches;
} Shift;

typedef struct SteadyTimes {
  int64_t *at;
  int32_t count;
} SteadyTimes;

/* Predicted times are sums of rounded ones, and the steady state is approached. */
static int64_t tolerance(int64_t period) {
  return 2 + period / 200;
}

static bool is_near(int64_t a, int64_t b, int64_t period) {
  return llabs(a - b) <= tolerance(period);
}

/* `by` is 1 for a period later, -1 for a period earlier. */
static bool is_same_work(const Box *a, const Box *b, const Shift *shift, int32_t by) {
  int64_t period = by * shift->period;
  bool is_moved = a->microbatch < 0 ? b->microbatch < 0
                                    : b->microbatch == a->microbatch + by * shift->microbatches;
  return is_moved && a->kind == b->kind && a->chunk == b->chunk &&
         a->layer_first == b->layer_first && a->layer_last == b->layer_last &&
         is_near(a->start + period, b->start, shift->period) &&
         is_near(a->end + period, b->end, shift->period);
}

/* The first box that does not begin before a time. */
static int32_t first_from(const TimelineLane *lane, int64_t start) {
  int32_t low = 0, high = lane->boxes.count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (lane->boxes.at[middle].start < start)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool has_counterpart(const TimelineLane *lane, const Box *box, const Shift *shift,
                            int32_t by) {
  int64_t want = box->start + by * shift->period, slack = tolerance(shift->period);
  for (int32_t i = first_from(lane, want - slack); i < lane->boxes.count; i++) {
    if (lane->boxes.at[i].start > want + slack) return false;
    if (is_same_work(box, &lane->boxes.at[i], shift, by)) return true;
  }
  return false;
}

/* Adds the starts of boxes without a counterpart: those that miss a later one, and a period before
 * those that miss an earlier one. */
static void add_ends(const TimelineLane *lane, const Shift *shift, SteadyTimes *ends) {
  for (int32_t i = 0; i < lane->boxes.count; i++) {
    const Box *box = &lane->boxes.at[i];
    if (!has_counterpart(lane, box, shift, 1)) ends->at[ends->count++] = box->start;
    if (!has_counterpart(lane, box, shift, -1))
      ends->at[ends->count++] = box->start - shift->period;
  }
}

static int compare_times(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The longest time in which everything is repeated, as first, period and repeats. */
static Steady steady_with(const Timeline *t, const Shift *shift, SteadyTimes *ends) {
  Steady steady = {.period = shift->period};
  ends->count = 0;
  for (int32_t r = 0; r < t->row_count; r++)
    add_ends(&t->rows[r].lanes[t->main], shift, ends);
  qsort(ends->at, (size_t)ends->count, sizeof *ends->at, compare_times);
  for (int32_t i = 0; i + 1 < ends->count; i++) {
    int64_t first = ends->at[i] + 1, gap = ends->at[i + 1] - first;
    int64_t repeats = gap / shift->period + 1;
    if (gap < 0 || first < 0 || repeats <= steady.repeats) continue;
    steady.first = first;
    steady.repeats = repeats;
  }
  return steady;
}

/* Periods of a box and later ones of the same kind, from several places in the row. */
static int32_t find_shifts(const TimelineLane *lane, Shift shifts[SHIFTS_MOST]) {
  enum { PLACES = 8 };
  int32_t count = 0;
  const Box *boxes = lane->boxes.at;
  for (int32_t place = 1; place < PLACES; place++) {
    int32_t base = lane->boxes.count * place / PLACES, found = 0;
    while (base < lane->boxes.count && boxes[base].microbatch < 0)
      base++;
    for (int32_t i = base + 1; i < lane->boxes.count && found < SHIFTS_MOST / PLACES; i++) {
      const Box *a = &boxes[base], *b = &boxes[i];
      if (b->kind != a->kind || b->chunk != a->chunk || b->microbatch <= a->microbatch) continue;
      shifts[count++] = (Shift){b->start - a->start, b->microbatch - a->microbatch};
      found++;
    }
  }
  return count;
}

/* Removes all repetitions but the first, and moves what follows to its end. */
static void fold_lane(TimelineLane *lane, const Steady *steady) {
  int64_t seam = steady->first + steady->period;
  int64_t after = steady->first + steady->period * steady->repeats;
  int32_t kept = 0;
  for (int32_t i = 0; i < lane->boxes.count; i++) {
    Box box = lane->boxes.at[i];
    if (box.start >= seam && box.start < after) continue;
    if (box.start >= after) {
      box.start -= after - seam;
      box.end -= after - seam;
    }
    lane->boxes.at[kept++] = box;
  }
  lane->boxes.count = kept;
}

Steady timeline_fold(Arena *arena, Timeline *t) {
  Shift shifts[SHIFTS_MOST];
  Steady best = {0};
  int32_t boxes = 0, count = find_shifts(&t->rows[0].lanes[t->main], shifts);
  for (int32_t r = 0; r < t->row_count; r++)
    boxes += t->rows[r].lanes[t->main].boxes.count;
  SteadyTimes ends = {ARENA_ARRAY(arena, int64_t, 2 * boxes + 1), 0};
  for (int32_t i = 0; i < count; i++) {
    Steady steady = steady_with(t, &shifts[i], &ends);
    bool is_longer = steady.period * steady.repeats > best.period * best.repeats * 5 / 4;
    if (steady.repeats >= REPEATS_LEAST && is_longer) best = steady;
  }
  if (best.period * (best.repeats - 1) < t->span / 4) return (Steady){0}; /* hardly narrower */
  for (int32_t r = 0; r < t->row_count; r++)
    for (int32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
      fold_lane(&t->rows[r].lanes[lane], &best);
  t->span -= best.period * (best.repeats - 1);
  return best;
}
