#include "compiler/draft/memory/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum PackOrder { BY_SIZE, BY_AREA, BY_LENGTH, BY_START, PACK_ORDERS } PackOrder;

typedef struct Ranked {
  const PackItem *item;
  int32_t index;
  double rank;
} Ranked;

static int compare_ranked(const void *a, const void *b) {
  const Ranked *x = a, *y = b;
  if (x->rank != y->rank) return x->rank > y->rank ? -1 : 1;
  if (x->item->first != y->item->first) return x->item->first < y->item->first ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static double rank_of(const PackItem *item, PackOrder order) {
  double length = (double)item->last - item->first + 1;
  switch (order) {
  case BY_AREA: return (double)item->size_bytes * length;
  case BY_LENGTH: return length;
  case BY_START: return -(double)item->first;
  default: return (double)item->size_bytes;
  }
}

typedef struct Taken {
  int64_t first, end;
} Taken;

/* Ranges of bytes in order; ranges that overlap or touch are merged. */
typedef VEC(Taken) TakenList;

/* Placed items by lifetime. Time is cut into slices of about the square root of its length. An item
 * looks individually only at the items that begin or end in the slices in which it begins or ends
 * itself; for slices that it spans completely, and for items that span a slice, there are lists of
 * merged bytes, in which thousands of adjacent layers are one entry. */
typedef struct PackSlice {
  VEC(int32_t) part;       /* items that live in a part of it */
  TakenList through, some; /* bytes live in all of it; bytes live in any part of it */
} PackSlice;

typedef struct Slices {
  PackSlice *at;
  int32_t width; /* positions of one slice */
} Slices;

static Slices slices_new(Arena *arena, const PackItem *items, int32_t count) {
  int32_t positions = 1;
  for (int32_t i = 0; i < count; i++)
    if (items[i].last >= positions) positions = items[i].last + 1;
  Slices slices = {.width = (int32_t)sqrt(positions) / 2 + 1};
  slices.at = ARENA_ARRAY(arena, PackSlice, positions / slices.width + 1);
  return slices;
}

static void add_taken(Arena *arena, TakenList *list, Taken taken) {
  int32_t at = 0, stop = list->count;
  while (at < stop) { /* the first range that ends at or after the start of this one */
    int32_t middle = (at + stop) / 2;
    if (list->at[middle].end >= taken.first)
      stop = middle;
    else
      at = middle + 1;
  }
  for (; stop < list->count && list->at[stop].first <= taken.end; stop++) {
    if (list->at[stop].first < taken.first) taken.first = list->at[stop].first;
    if (list->at[stop].end > taken.end) taken.end = list->at[stop].end;
  }
  int32_t tail = list->count - stop;
  if (stop == at) VEC_PUSH(arena, list, taken);
  if (stop != at + 1) memmove(&list->at[at + 1], &list->at[stop], (size_t)tail * sizeof *list->at);
  list->count = at + 1 + tail;
  list->at[at] = taken;
}

typedef struct Packing {
  Arena *arena;
  const PackItem *items;
  int32_t count;
  int64_t align_bytes;
  int64_t *offsets; /* by item */
  TakenList taken;  /* of items that live at the same time as the current one */
} Packing;

static Taken taken_by(const Packing *p, int32_t index) {
  int64_t at = p->offsets[index];
  return (Taken){at, at + round_up(p->items[index].size_bytes, p->align_bytes)};
}

static void slices_add(const Packing *p, const Slices *slices, int32_t index) {
  const PackItem *item = &p->items[index];
  int32_t width = slices->width, first = item->first / width, last = item->last / width;
  Taken taken = taken_by(p, index);
  for (int32_t k = first; k <= last; k++) {
    PackSlice *slice = &slices->at[k];
    bool through = item->first <= k * width && item->last >= (k + 1) * width - 1;
    if (through)
      add_taken(p->arena, &slice->through, taken);
    else
      VEC_PUSH(p->arena, &slice->part, index);
    add_taken(p->arena, &slice->some, taken);
  }
}

static void take_list(Packing *p, const TakenList *list) {
  for (int32_t i = 0; i < list->count; i++)
    VEC_PUSH(p->arena, &p->taken, list->at[i]);
}

/* Adds what is taken in a slice of which the item lives in a part. */
static void take_part(Packing *p, const PackSlice *slice, const PackItem *item) {
  take_list(p, &slice->through);
  for (int32_t i = 0; i < slice->part.count; i++) {
    const PackItem *placed = &p->items[slice->part.at[i]];
    if (placed->first <= item->last && item->first <= placed->last)
      VEC_PUSH(p->arena, &p->taken, taken_by(p, slice->part.at[i]));
  }
}

static void find_taken(Packing *p, const Slices *slices, const PackItem *item) {
  int32_t first = item->first / slices->width, last = item->last / slices->width;
  p->taken.count = 0;
  take_part(p, &slices->at[first], item);
  for (int32_t k = first + 1; k < last; k++)
    take_list(p, &slices->at[k].some);
  if (last > first) take_part(p, &slices->at[last], item);
}

/* The lowest gap that is wide enough between items alive at the same time. A range in the way rules
 * out everything below its end, in whatever order ranges are visited; ranges that were passed are
 * not visited again. */
static int64_t find_gap(Packing *p, int64_t size) {
  int64_t at = 0;
  for (bool moved = true; moved;) {
    int32_t left = 0;
    moved = false;
    for (int32_t j = 0; j < p->taken.count; j++) {
      Taken taken = p->taken.at[j];
      if (taken.end <= at) continue;
      if (taken.first < at + size) {
        at = taken.end;
        moved = true;
        continue;
      }
      p->taken.at[left++] = taken;
    }
    p->taken.count = left;
  }
  return at;
}

static int64_t place_all(Packing *p, const Ranked *ranked) {
  Slices slices = slices_new(p->arena, p->items, p->count);
  int64_t end = 0;
  for (int32_t i = 0; i < p->count; i++) {
    int32_t index = ranked[i].index;
    int64_t size = round_up(p->items[index].size_bytes, p->align_bytes);
    find_taken(p, &slices, &p->items[index]);
    int64_t at = find_gap(p, size);
    p->offsets[index] = at;
    if (at + size > end) end = at + size;
    slices_add(p, &slices, index);
  }
  return end;
}

int64_t pack_items(Arena *arena, PackItem *items, int32_t count, int64_t align_bytes) {
  if (count == 0) return 0;
  int64_t bound = pack_lower_bound(arena, items, count, align_bytes), best = INT64_MAX;
  Ranked *ranked = ARENA_ARRAY(arena, Ranked, count);
  Packing packing = {.arena = arena,
                     .items = items,
                     .count = count,
                     .align_bytes = align_bytes,
                     .offsets = ARENA_ARRAY(arena, int64_t, count)};
  for (PackOrder order = BY_SIZE; order < PACK_ORDERS && best > bound + bound / 100; order++) {
    for (int32_t i = 0; i < count; i++)
      ranked[i] = (Ranked){&items[i], i, rank_of(&items[i], order)};
    qsort(ranked, (size_t)count, sizeof *ranked, compare_ranked);
    int64_t end = place_all(&packing, ranked);
    if (end >= best) continue;
    best = end;
    for (int32_t i = 0; i < count; i++)
      items[i].offset = packing.offsets[i];
  }
  return best;
}

int64_t pack_lower_bound(Arena *arena, const PackItem *items, int32_t count, int64_t align_bytes) {
  int32_t positions = 0;
  for (int32_t i = 0; i < count; i++)
    if (items[i].last + 2 > positions) positions = items[i].last + 2;
  int64_t *change = ARENA_ARRAY(arena, int64_t, positions + 1);
  for (int32_t i = 0; i < count; i++) {
    change[items[i].first] += round_up(items[i].size_bytes, align_bytes);
    change[items[i].last + 1] -= round_up(items[i].size_bytes, align_bytes);
  }
  int64_t live = 0, most = 0;
  for (int32_t i = 0; i < positions; i++) {
    live += change[i];
    if (live > most) most = live;
  }
  return most;
}
