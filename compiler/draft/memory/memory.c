/* memory.c -- the transient buffers of a program are placed above the persistent ones. */
#include "compiler/draft/memory/memory.h"

#include "compiler/draft/memory/pack.h"

/* Buffers of the program in the tier. */
static int32_t items_of(const Stage *stage, int32_t kind, Tier tier, PackItem *items) {
  int32_t count = 0;
  for (int32_t b = 0; b < stage->buffers.count; b++) {
    const Buffer *buffer = &stage->buffers.at[b];
    if (buffer->program == kind && buffer->tier == tier)
      items[count++] = (PackItem){buffer->size_bytes, buffer->first_call, buffer->last_call, 0};
  }
  return count;
}

static void pack_program(Stage *stage, int32_t kind, Tier tier) {
  Program *program = &stage->programs[kind];
  Arena *arena = arena_new(); /* large, and not needed later */
  PackItem *items = ARENA_ARRAY(arena, PackItem, stage->buffers.count);
  const int32_t count = items_of(stage, kind, tier, items);
  int64_t end = pack_items(arena, items, count, PLAN_ALIGN_BYTES);
  int64_t persistent_bytes = stage->persistent_bytes[tier];
  program->live_bytes[tier] =
      persistent_bytes + pack_lower_bound(arena, items, count, PLAN_ALIGN_BYTES);
  program->peak_bytes[tier] = persistent_bytes + end;
  for (int32_t b = 0, i = 0; b < stage->buffers.count; b++)
    if (stage->buffers.at[b].program == kind && stage->buffers.at[b].tier == tier)
      stage->buffers.at[b].offset = persistent_bytes + items[i++].offset;
  if (program->peak_bytes[tier] > stage->arena_bytes[tier])
    stage->arena_bytes[tier] = program->peak_bytes[tier];
  arena_free(arena);
}

/* Bytes of a stage's train step in device memory: alive at once, or with offsets. */
static int64_t step_bytes(const Draft *d, int32_t stage, bool is_packed) {
  const Stage *at = &d->stages[stage];
  Arena *arena = arena_new();
  PackItem *items = ARENA_ARRAY(arena, PackItem, at->buffers.count);
  const int32_t count = items_of(at, PROGRAM_TRAIN_STEP, TIER_DEVICE, items);
  const int64_t bytes = is_packed ? pack_items(arena, items, count, PLAN_ALIGN_BYTES)
                                  : pack_lower_bound(arena, items, count, PLAN_ALIGN_BYTES);
  arena_free(arena);
  return at->persistent_bytes[TIER_DEVICE] + bytes;
}

int64_t memory_live(const Draft *d, int32_t stage) {
  return step_bytes(d, stage, false);
}

int64_t memory_packed(const Draft *d, int32_t stage) {
  return step_bytes(d, stage, true);
}

void memory_pack(Draft *d) {
  d->arena_bytes = d->live_bytes = 0;
  for (int32_t s = 0; s < d->stage_count; s++) {
    Stage *stage = &d->stages[s];
    for (Tier tier = 0; tier < Tier_COUNT; tier++) {
      stage->arena_bytes[tier] = stage->persistent_bytes[tier];
      for (int32_t kind = 0; d->uses[tier] && kind < ProgramKind_COUNT; kind++)
        if (stage->programs[kind].exists) pack_program(stage, kind, tier);
      for (int32_t kind = 0; tier == TIER_DEVICE && kind < ProgramKind_COUNT; kind++)
        if (stage->programs[kind].live_bytes[tier] > d->live_bytes)
          d->live_bytes = stage->programs[kind].live_bytes[tier];
    }
    if (stage->arena_bytes[TIER_DEVICE] > d->arena_bytes)
      d->arena_bytes = stage->arena_bytes[TIER_DEVICE];
  }
}
