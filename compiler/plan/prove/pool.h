/* pool.h -- rows of bytes, each kept once: equal rows have equal numbers, counted from 0 in the
 * order of arrival. Private to compiler/plan/prove. A zeroed pool is empty. */
#ifndef LOCKSTEP_PROVE_POOL_H
#define LOCKSTEP_PROVE_POOL_H

#include "compiler/base/base.h"

typedef struct Pool {
  unsigned char *bytes; /* of all rows, one after the other */
  size_t used, capacity;
  struct PoolRow {
    size_t first;
    uint32_t size;
    uint32_t tag; /* the caller's; 0 at first */
    uint64_t hash;
  } * row;
  uint32_t count;
  size_t row_capacity;
  uint32_t *slot; /* hash table of numbers + 1 */
  uint32_t slot_count;
} Pool;

/* Returns the number of a row, whose size is a multiple of 8. */
uint32_t pool_number(Arena *arena, Pool *pool, const void *bytes, size_t size);

/* Valid until the next row is added. */
static inline const void *pool_row(const Pool *pool, uint32_t number) {
  return pool->bytes + pool->row[number].first;
}

/* Room for `wanted` items in an array that grows: `at`, or where its items are now. */
void *pool_room(Arena *arena, void *at, size_t *capacity, size_t wanted, size_t item_bytes);

#endif
