/* search.h -- finding a place among things that are sorted by offset. Private to compiler/prove. */
#ifndef LOCKSTEP_PROVE_SEARCH_H
#define LOCKSTEP_PROVE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number of items before the first one whose `field`, a uint64_t that does not fall from item
 * to item, is at least `least`. */
#define SEARCH(items, count, field, least)                                                         \
  search_items((items), (count), sizeof *(items), offsetof(__typeof__(*(items)), field), (least))

static inline uint32_t search_items(const void *items, uint32_t count, size_t item_bytes,
                                    size_t field_offset, uint64_t least) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    uint64_t value = 0;
    memcpy(&value, (const char *)items + middle * item_bytes + field_offset, sizeof value);
    if (value >= least)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

#endif
