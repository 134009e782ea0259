/* sorted.h -- many items in order that come and go anywhere. Private to compiler/prove.
 *
 * They lie in leaves of a bounded size, so that a change moves the items of one leaf and not all
 * that are behind it: a program of thousands of layers has hundreds of thousands. Items are found
 * by number, as in an array. All zero is an empty one. */
#ifndef LOCKSTEP_PROVE_SORTED_H
#define LOCKSTEP_PROVE_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Size of an item and where its key, a uint64_t that does not fall from item to item, stands. */
typedef struct SortedKind {
  size_t item_bytes, key_at;
} SortedKind;

#define SORTED_KIND(type, key)                                                                     \
  { sizeof(type), offsetof(type, key) }

typedef struct SortedLeaf {
  void *items;
  uint32_t first, count, capacity; /* first: number of its first item */
} SortedLeaf;

typedef struct Sorted {
  uint32_t count;
  SortedLeaf only;  /* as long as there is one */
  SortedLeaf *leaf; /* NULL: there is one */
  uint32_t leaf_count, leaf_capacity;
} Sorted;

/* The number of items before the first one whose key is at least `least`. */
uint32_t sorted_find(const SortedKind *kind, const Sorted *s, uint64_t least);

/* Item number `index`, below count; valid until the next change. */
void *sorted_at(const SortedKind *kind, const Sorted *s, uint32_t index);

/* Puts `added` items in place of `removed` from number `at` on; they fit the order. False: out of
 * memory, and nothing has changed, or only the removed are gone. */
bool sorted_replace(const SortedKind *kind, Sorted *s, uint32_t at, uint32_t removed,
                    const void *items, uint32_t added);

void sorted_clear(Sorted *s);
void sorted_free(Sorted *s);

#endif
