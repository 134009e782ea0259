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

/* `placed` is kept sorted by offset; the first gap wide enough between those alive together is
 * taken. */
static int64_t place_all(Ranked *ranked, int32_t count, int64_t align_bytes, int64_t *offsets,
                         int32_t *placed, const PackItem *items) {
  int64_t end = 0;
  for (int32_t i = 0; i < count; i++) {
    const PackItem *item = ranked[i].item;
    int64_t size = round_up(item->size_bytes, align_bytes), at = 0;
    for (int32_t j = 0; j < i; j++) {
      const PackItem *other = &items[placed[j]];
      if (other->last < item->first || item->last < other->first) continue;
      if (offsets[placed[j]] >= at + size) break;
      int64_t other_end = offsets[placed[j]] + round_up(other->size_bytes, align_bytes);
      if (other_end > at) at = other_end;
    }
    offsets[ranked[i].index] = at;
    if (at + size > end) end = at + size;
    int32_t low = 0, high = i;
    while (low < high) {
      int32_t middle = (low + high) / 2;
      if (offsets[placed[middle]] <= at)
        low = middle + 1;
      else
        high = middle;
    }
    memmove(placed + low + 1, placed + low, sizeof *placed * (size_t)(i - low));
    placed[low] = ranked[i].index;
  }
  return end;
}

int64_t pack_items(Arena *arena, PackItem *items, int32_t count, int64_t align_bytes) {
  if (count == 0) return 0;
  int64_t bound = pack_lower_bound(arena, items, count, align_bytes), best = INT64_MAX;
  Ranked *ranked = ARENA_ARRAY(arena, Ranked, count);
  int64_t *offsets = ARENA_ARRAY(arena, int64_t, count);
  int32_t *placed = ARENA_ARRAY(arena, int32_t, count + 1);
  for (PackOrder order = BY_SIZE; order < PACK_ORDERS && best > bound + bound / 100; order++) {
    for (int32_t i = 0; i < count; i++)
      ranked[i] = (Ranked){&items[i], i, rank_of(&items[i], order)};
    qsort(ranked, (size_t)count, sizeof *ranked, compare_ranked);
    int64_t end = place_all(ranked, count, align_bytes, offsets, placed, items);
    if (end >= best) continue;
    best = end;
    for (int32_t i = 0; i < count; i++)
      items[i].offset = offsets[i];
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

static void pack_program(Draft *d, Stage *stage, int32_t kind) {
  Program *program = &stage->programs[kind];
  Arena *arena = d->compile->arena;
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
}

void memory_pack(Draft *d) {
  d->arena_bytes = 0;
  for (int32_t s = 0; s < d->stage_count; s++) {
    Stage *stage = &d->stages[s];
    stage->arena_bytes = stage->persistent_bytes;
    for (int32_t kind = 0; kind < ProgramKind_COUNT; kind++)
      if (stage->programs[kind].exists) pack_program(d, stage, kind);
    if (stage->arena_bytes > d->arena_bytes) d->arena_bytes = stage->arena_bytes;
  }
}
