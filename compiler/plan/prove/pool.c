#include "compiler/plan/prove/pool.h"

#include <string.h>

#include "compiler/plan/prove/walk.h"

void *pool_room(Arena *arena, void *at, size_t *capacity, size_t wanted, size_t item_bytes) {
  if (wanted <= *capacity) return at;
  size_t room = wanted + *capacity + 16;
  at = arena_grow(arena, at, *capacity * item_bytes, room * item_bytes);
  *capacity = room;
  return at;
}

/* Fast rather than strong, because rows are also compared. */
static uint64_t hash_bytes(const void *bytes, size_t size) {
  uint64_t hash = size, word = 0;
  for (size_t i = 0; i + sizeof word <= size; i += sizeof word) {
    memcpy(&word, (const char *)bytes + i, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash_mix(hash, size);
}

/* The slot of an equal row, or the free slot where it belongs. */
static uint32_t *find_slot(const Pool *pool, const void *bytes, size_t size, uint64_t hash) {
  uint64_t at = hash & (pool->slot_count - 1);
  for (; pool->slot[at] != 0; at = (at + 1) & (pool->slot_count - 1)) {
    const struct PoolRow *row = &pool->row[pool->slot[at] - 1];
    if (row->hash == hash && row->size == size &&
        (size == 0 || memcmp(pool->bytes + row->first, bytes, size) == 0))
      break;
  }
  return &pool->slot[at];
}

/* At most half of the slots are taken. */
static void more_slots(Arena *arena, Pool *pool) {
  if (pool->count * 2 < pool->slot_count) return;
  pool->slot_count = pool->slot_count == 0 ? 1024 : pool->slot_count * 2;
  pool->slot = ARENA_ARRAY(arena, uint32_t, pool->slot_count);
  for (uint32_t i = 0; i < pool->count; i++)
    *find_slot(pool, pool_row(pool, i), pool->row[i].size, pool->row[i].hash) = i + 1;
}

uint32_t pool_number(Arena *arena, Pool *pool, const void *bytes, size_t size) {
  uint64_t hash = hash_bytes(bytes, size);
  more_slots(arena, pool);
  uint32_t *slot = find_slot(pool, bytes, size, hash);
  if (*slot != 0) return *slot - 1;
  pool->bytes = pool_room(arena, pool->bytes, &pool->capacity, pool->used + size, 1);
  pool->row = pool_room(arena, pool->row, &pool->row_capacity, pool->count + 1, sizeof *pool->row);
  pool->row[pool->count] = (struct PoolRow){pool->used, (uint32_t)size, 0, hash};
  if (size > 0) memcpy(pool->bytes + pool->used, bytes, size);
  pool->used += size;
  *slot = ++pool->count;
  return pool->count - 1;
}
