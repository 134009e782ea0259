#include "compiler/prove/pool.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/prove/walk.h"

bool pool_room(void *array, size_t *capacity, size_t wanted, size_t item_bytes) {
  void **at = array;
  if (wanted <= *capacity) return true;
  size_t room = wanted + *capacity + 16;
  void *more = realloc(*at, room * item_bytes);
  if (more == NULL) return false;
  *at = more;
  *capacity = room;
  return true;
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
static bool more_slots(Pool *pool) {
  if (pool->count * 2 < pool->slot_count) return true;
  uint32_t count = pool->slot_count == 0 ? 1024 : pool->slot_count * 2;
  uint32_t *slot = calloc(count, sizeof *slot);
  if (slot == NULL) return false;
  free(pool->slot);
  pool->slot = slot;
  pool->slot_count = count;
  for (uint32_t i = 0; i < pool->count; i++)
    *find_slot(pool, pool_row(pool, i), pool->row[i].size, pool->row[i].hash) = i + 1;
  return true;
}

uint32_t pool_number(Pool *pool, const void *bytes, size_t size) {
  uint64_t hash = hash_bytes(bytes, size);
  if (!more_slots(pool)) return POOL_NONE;
  uint32_t *slot = find_slot(pool, bytes, size, hash);
  if (*slot != 0) return *slot - 1;
  if (!pool_room(&pool->bytes, &pool->capacity, pool->used + size, 1) ||
      !pool_room(&pool->row, &pool->row_capacity, pool->count + 1, sizeof *pool->row))
    return POOL_NONE;
  pool->row[pool->count] = (struct PoolRow){pool->used, (uint32_t)size, 0, hash};
  if (size > 0) memcpy(pool->bytes + pool->used, bytes, size);
  pool->used += size;
  *slot = ++pool->count;
  return pool->count - 1;
}

void pool_close(Pool *pool) {
  free(pool->bytes);
  free(pool->row);
  free(pool->slot);
  *pool = (Pool){0};
}
