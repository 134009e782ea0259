/* inside.c -- edges between records of one segment: `after` of those that follow a record of
 * another lane which touches the same bytes. */
#include "compiler/draft/edges/edges.h"
#include "compiler/draft/edges/touches.h"

static bool conflict(const Touches *a, const Touches *b) {
  for (int32_t i = 0; i < a->count; i++)
    for (int32_t k = 0; k < b->count; k++) {
      const Touch *x = &a->at[i], *y = &b->at[k];
      if (x->base == y->base && (x->writes || y->writes) && x->first < y->end && y->first < x->end)
        return true;
    }
  return false;
}

static bool never_together(const Record *a, const Record *b) {
  return ((a->when_all & b->when_none) | (a->when_none & b->when_all)) != 0;
}

/* True if `a` runs whenever `b` does. */
static bool runs_with(const Record *a, const Record *b) {
  return (a->when_all & ~b->when_all) == 0 && (a->when_none & ~b->when_none) == 0;
}

/* True if an earlier record on record i's lane has waited for record j or a later one. */
static bool is_implied(const Segment *segment, int32_t i, int32_t j) {
  const Record *at = segment->records.at;
  for (int32_t earlier = j + 1; earlier < i; earlier++) {
    if (at[earlier].lane != at[i].lane || !runs_with(&at[earlier], &at[i])) continue;
    for (int32_t e = 0; e < at[earlier].after.count; e++) {
      int32_t k = at[earlier].after.at[e];
      if (k >= j && at[k].lane == at[j].lane && (k == j || runs_with(&at[k], &at[j]))) return true;
    }
  }
  return false;
}

/* Records of a segment that touch a base, in list order. */
typedef VEC(int32_t) Numbers;
typedef struct Touched {
  Numbers readers, writers;
} Touched;

/* The rest of such a list; entries are taken from its end. */
typedef struct Before {
  const int32_t *at;
  int32_t count;
} Before;

/* Takes the latest record of all lists, or NO_ID when they are empty. */
static int32_t take_latest(Before *lists, int32_t count) {
  int32_t latest = NO_ID;
  for (int32_t k = 0; k < count; k++)
    if (lists[k].count > 0 && lists[k].at[lists[k].count - 1] > latest)
      latest = lists[k].at[lists[k].count - 1];
  for (int32_t k = 0; k < count; k++)
    while (lists[k].count > 0 && lists[k].at[lists[k].count - 1] == latest)
      lists[k].count--;
  return latest;
}

static Touched *touched_by(const Segment *segment, Touched *of_base, const Touch *touch) {
  return &of_base[number_of_base(segment, touch->base)];
}

/* For each other lane the latest record that conflicts with record i, and earlier ones as long as
 * those found may be skipped by a call's flags. */
static void order_record(Arena *arena, const Touches *touches, Segment *segment, uint32_t lanes,
                         Touched *of_base, int32_t i) {
  Record *record = &segment->records.at[i];
  Before *before = ARENA_ARRAY(arena, Before, 2 * touches[i].count + 1);
  int32_t lists = 0;
  for (int32_t t = 0; t < touches[i].count; t++) {
    const Touched *touched = touched_by(segment, of_base, &touches[i].at[t]);
    before[lists++] = (Before){touched->writers.at, touched->writers.count};
    if (touches[i].at[t].writes)
      before[lists++] = (Before){touched->readers.at, touched->readers.count};
  }
  uint32_t settled = 1u << record->lane;
  for (int32_t j; settled != lanes && (j = take_latest(before, lists)) != NO_ID;) {
    const Record *other = &segment->records.at[j];
    if ((settled >> other->lane & 1) != 0 || never_together(record, other) ||
        !conflict(&touches[i], &touches[j]))
      continue;
    if (!is_implied(segment, i, j)) VEC_PUSH(arena, &record->after, j);
    if (runs_with(other, record)) settled |= 1u << other->lane;
  }
  for (int32_t t = 0; t < touches[i].count; t++) {
    Touched *touched = touched_by(segment, of_base, &touches[i].at[t]);
    VEC_PUSH(arena, touches[i].at[t].writes ? &touched->writers : &touched->readers, i);
  }
}

static uint32_t lanes_of(const Segment *segment) {
  uint32_t lanes = 0;
  for (int32_t i = 0; i < segment->records.count; i++)
    lanes |= 1u << segment->records.at[i].lane;
  return lanes;
}

void order_segment(Arena *arena, const Touches *touches, Segment *segment) {
  uint32_t lanes = lanes_of(segment);
  if ((lanes & (lanes - 1)) == 0) return; /* one lane, or none */
  Touched *of_base = ARENA_ARRAY(arena, Touched, segment->bases.count + OWN_BASES);
  for (int32_t i = 0; i < segment->records.count; i++)
    order_record(arena, touches, segment, lanes, of_base, i);
  /* a record that waits for another lane is not fused */
  for (int32_t i = 0; i < segment->records.count; i++)
    if (segment->records.at[i].after.count > 0) segment->records.at[i].fused_bytes = 0;
}

void edges_inside(Draft *d) {
  for (int32_t s = 0; s < d->segments.count; s++) {
    Segment *segment = &d->segments.at[s];
    const uint32_t lanes = lanes_of(segment);
    if ((lanes & (lanes - 1)) != 0)
      order_segment(d->compile->arena, touches_of(d, segment), segment);
  }
}
