#include <stdlib.h>
#include <string.h>

#include "compiler/memory/memory.h"
#include "compiler/schedule/draft.h"

/* ---- the packer */

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

/* Placed items by when they live, so that only those that an item may meet are looked at: these
 * live in the slice of time in which it begins, or begin in a later one. Lifetimes are short next
 * to a pipeline's step. */
typedef struct Slice {
  VEC(int32_t) live, begin; /* indices of items */
} Slice;

typedef struct Slices {
  Slice *at;
  int32_t width; /* positions of one slice */
} Slices;

enum { SLICES_MAX = 512 };

static Slices slices_new(Arena *arena, const PackItem *items, int32_t count) {
  int32_t positions = 1;
  for (int32_t i = 0; i < count; i++)
    if (items[i].last >= positions) positions = items[i].last + 1;
  Slices slices = {.width = positions / SLICES_MAX + 1};
  slices.at = ARENA_ARRAY(arena, Slice, positions / slices.width + 1);
  return slices;
}

static void slices_add(Arena *arena, const Slices *slices, const PackItem *item, int32_t index) {
  VEC_PUSH(arena, &slices->at[item->first / slices->width].begin, index);
  for (int32_t k = item->first / slices->width; k <= item->last / slices->width; k++)
    VEC_PUSH(arena, &slices->at[k].live, index);
}

typedef struct Taken {
  int64_t first, end;
} Taken;

typedef struct Packing {
  Arena *arena;
  const PackItem *items;
  int32_t count;
  int64_t align_bytes;
  int64_t *offsets; /* by item */
  Taken *taken;     /* of those that live with the item at hand */
  int32_t taken_count;
} Packing;

static void take(Packing *p, const PackItem *item, int32_t other) {
  const PackItem *placed = &p->items[other];
  if (placed->first > item->last || item->first > placed->last) return;
  int64_t at = p->offsets[other];
  p->taken[p->taken_count++] = (Taken){at, at + round_up(placed->size_bytes, p->align_bytes)};
}

static void find_taken(Packing *p, const Slices *slices, const PackItem *item) {
  int32_t first = item->first / slices->width, last = item->last / slices->width;
  p->taken_count = 0;
  for (int32_t j = 0; j < slices->at[first].live.count; j++)
    take(p, item, slices->at[first].live.at[j]);
  for (int32_t k = first + 1; k <= last; k++)
    for (int32_t j = 0; j < slices->at[k].begin.count; j++)
      take(p, item, slices->at[k].begin.at[j]);
}

/* The lowest gap wide enough between those alive together. What lies in the way leaves nothing
 * below its end, in whatever order it is looked at; those passed by are not looked at again. */
static int64_t find_gap(Packing *p, int64_t size) {
  int64_t at = 0;
  for (bool moved = true; moved;) {
    int32_t left = 0;
    moved = false;
    for (int32_t j = 0; j < p->taken_count; j++) {
      Taken taken = p->taken[j];
      if (taken.end <= at) continue;
      if (taken.first < at + size) {
        at = taken.end;
        moved = true;
        continue;
      }
      p->taken[left++] = taken;
    }
    p->taken_count = left;
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
    slices_add(p->arena, &slices, &p->items[index], index);
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
                     .offsets = ARENA_ARRAY(arena, int64_t, count),
                     .taken = ARENA_ARRAY(arena, Taken, count)};
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

/* ---- programs: transient buffers stand above the persistent ones */

static void pack_program(Stage *stage, int32_t kind) {
  Program *program = &stage->programs[kind];
  Arena *arena = arena_new(); /* nothing of it is needed later, and it is much */
  int32_t count = 0;
  PackItem *items = ARENA_ARRAY(arena, PackItem, stage->buffers.count);
  for (int32_t b = 0; b < stage->buffers.count; b++) {
    const Buffer *buffer = &stage->buffers.at[b];
    if (buffer->program == kind)
      items[count++] = (PackItem){buffer->size_bytes, buffer->first_call, buffer->last_call, 0};
  }
  int64_t end = pack_items(arena, items, count, PLAN_ALIGN_BYTES);
  program->live_bytes =
      stage->persistent_bytes + pack_lower_bound(arena, items, count, PLAN_ALIGN_BYTES);
  program->peak_bytes = stage->persistent_bytes + end;
  for (int32_t b = 0, i = 0; b < stage->buffers.count; b++)
    if (stage->buffers.at[b].program == kind)
      stage->buffers.at[b].offset = stage->persistent_bytes + items[i++].offset;
  if (program->peak_bytes > stage->arena_bytes) stage->arena_bytes = program->peak_bytes;
  arena_free(arena);
}

void memory_pack(Draft *d) {
  d->arena_bytes = 0;
  for (int32_t s = 0; s < d->stage_count; s++) {
    Stage *stage = &d->stages[s];
    stage->arena_bytes = stage->persistent_bytes;
    for (int32_t kind = 0; kind < ProgramKind_COUNT; kind++)
      if (stage->programs[kind].exists) pack_program(stage, kind);
    if (stage->arena_bytes > d->arena_bytes) d->arena_bytes = stage->arena_bytes;
  }
}
