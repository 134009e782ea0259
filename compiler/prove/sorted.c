#include "compiler/prove/sorted.h"

#include <stdlib.h>
#include <string.h>

enum { LEAF_ITEMS = 512, LEAF_FIRST = 4 };

static SortedLeaf *leaves(const Sorted *s) {
  return s->leaf != NULL ? s->leaf : (SortedLeaf *)&s->only;
}

static uint32_t leaves_count(const Sorted *s) {
  return s->leaf != NULL ? s->leaf_count : 1;
}

static char *item_at(const SortedKind *kind, const SortedLeaf *leaf, uint32_t index) {
  return (char *)leaf->items + index * kind->item_bytes;
}

static uint64_t key_at(const SortedKind *kind, const SortedLeaf *leaf, uint32_t index) {
  uint64_t key = 0;
  memcpy(&key, item_at(kind, leaf, index) + kind->key_at, sizeof key);
  return key;
}

/* Items of the leaf before the first one whose key is at least `least`. */
static uint32_t find_in(const SortedKind *kind, const SortedLeaf *leaf, uint64_t least) {
  uint32_t low = 0, high = leaf->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (key_at(kind, leaf, middle) >= least)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

uint32_t sorted_find(const SortedKind *kind, const Sorted *s, uint64_t least) {
  const SortedLeaf *leaf = leaves(s);
  uint32_t low = 0, high = leaves_count(s) - 1;
  while (low < high) { /* the first whose last item is not below, or the last one */
    uint32_t middle = low + (high - low) / 2;
    if (key_at(kind, &leaf[middle], leaf[middle].count - 1) >= least)
      high = middle;
    else
      low = middle + 1;
  }
  leaf += low;
  return leaf->first + find_in(kind, leaf, least);
}

/* The leaf that item `index` is in; the last one for the number behind all. */
static uint32_t leaf_of(const Sorted *s, uint32_t index) {
  const SortedLeaf *leaf = leaves(s);
  uint32_t low = 0, high = leaves_count(s) - 1;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (leaf[middle].first + leaf[middle].count > index)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void *sorted_at(const SortedKind *kind, const Sorted *s, uint32_t index) {
  const SortedLeaf *leaf = &leaves(s)[s->leaf == NULL ? 0 : leaf_of(s, index)];
  return item_at(kind, leaf, index - leaf->first);
}

/* ---- changes */

static bool leaf_reserve(const SortedKind *kind, SortedLeaf *leaf, uint32_t count) {
  if (count <= leaf->capacity) return true;
  uint32_t capacity = leaf->capacity ? leaf->capacity : LEAF_FIRST;
  while (capacity < count)
    capacity *= 2;
  void *grown = realloc(leaf->items, capacity * kind->item_bytes);
  if (grown == NULL) return false;
  leaf->items = grown, leaf->capacity = capacity;
  return true;
}

/* An empty leaf behind number `at`. */
static bool add_leaf(Sorted *s, uint32_t at) {
  if (s->leaf == NULL || s->leaf_count == s->leaf_capacity) {
    uint32_t capacity = s->leaf_capacity ? 2 * s->leaf_capacity : 8;
    SortedLeaf *grown = realloc(s->leaf, capacity * sizeof *grown);
    if (grown == NULL) return false;
    if (s->leaf == NULL) {
      grown[0] = s->only;
      s->only = (SortedLeaf){0};
      s->leaf_count = 1;
    }
    s->leaf = grown, s->leaf_capacity = capacity;
  }
  SortedLeaf *leaf = &s->leaf[at];
  memmove(leaf + 2, leaf + 1, (s->leaf_count - at - 1) * sizeof *leaf);
  leaf[1] = (SortedLeaf){.first = leaf->first + leaf->count};
  s->leaf_count++;
  return true;
}

/* Room for `added` more items at number `at` of leaf *number, which may move to the leaf behind:
 * a full one is cut in two, and behind the end of all begins a new one. */
static bool make_room(const SortedKind *kind, Sorted *s, uint32_t *number, uint32_t *at,
                      uint32_t added) {
  SortedLeaf *leaf = &leaves(s)[*number];
  if (leaf->count + added <= LEAF_ITEMS) return leaf_reserve(kind, leaf, leaf->count + added);
  bool is_end = *at == leaf->count && *number + 1 == leaves_count(s);
  uint32_t keep = is_end ? leaf->count : leaf->count / 2;
  if (!add_leaf(s, *number)) return false;
  leaf = &s->leaf[*number];
  SortedLeaf *next = leaf + 1;
  if (!leaf_reserve(kind, next, leaf->count - keep + added)) {
    memmove(next, next + 1, (--s->leaf_count - *number - 1) * sizeof *next);
    return false;
  }
  next->count = leaf->count - keep;
  if (next->count > 0 && next->items != NULL)
    memcpy(next->items, item_at(kind, leaf, keep), next->count * kind->item_bytes);
  next->first = leaf->first + keep;
  leaf->count = keep;
  if (*at < keep || (*at == keep && !is_end)) return leaf_reserve(kind, leaf, keep + added);
  *at -= keep;
  ++*number;
  return true;
}

/* Takes items out of leaf `number` and those behind it. A leaf that has none left goes. */
static void take_out(const SortedKind *kind, Sorted *s, uint32_t number, uint32_t at,
                     uint32_t removed) {
  s->count -= removed;
  while (removed > 0) {
    SortedLeaf *leaf = &leaves(s)[number];
    uint32_t count = leaf->count - at < removed ? leaf->count - at : removed;
    memmove(item_at(kind, leaf, at), item_at(kind, leaf, at + count),
            (leaf->count - at - count) * kind->item_bytes);
    leaf->count -= count, removed -= count;
    if (leaf->count == 0 && leaves_count(s) > 1) {
      free(leaf->items);
      memmove(leaf, leaf + 1, (--s->leaf_count - number) * sizeof *leaf);
    } else {
      number++;
    }
    at = 0;
  }
}

static void count_from(Sorted *s, uint32_t number) {
  SortedLeaf *leaf = leaves(s);
  for (uint32_t i = number == 0 ? 1 : number; i < leaves_count(s); i++)
    leaf[i].first = leaf[i - 1].first + leaf[i - 1].count;
  leaf[0].first = 0;
}

static bool put_in(const SortedKind *kind, Sorted *s, uint32_t number, uint32_t at,
                   const void *items, uint32_t added) {
  if (added == 0) return true;
  if (!make_room(kind, s, &number, &at, added)) return false;
  SortedLeaf *leaf = &leaves(s)[number];
  memmove(item_at(kind, leaf, at + added), item_at(kind, leaf, at),
          (leaf->count - at) * kind->item_bytes);
  memcpy(item_at(kind, leaf, at), items, added * kind->item_bytes);
  leaf->count += added;
  s->count += added;
  return true;
}

bool sorted_replace(const SortedKind *kind, Sorted *s, uint32_t at, uint32_t removed,
                    const void *items, uint32_t added) {
  uint32_t number = leaf_of(s, at);
  SortedLeaf *leaf = &leaves(s)[number];
  uint32_t within = at - leaf->first;
  if (removed == added && within + removed <= leaf->count) {
    if (added > 0) memcpy(item_at(kind, leaf, within), items, added * kind->item_bytes);
    return true;
  }
  take_out(kind, s, number, within, removed);
  if (removed > 0) { /* leaves may have gone */
    count_from(s, number);
    number = leaf_of(s, at);
    within = at - leaves(s)[number].first;
  }
  bool done = put_in(kind, s, number, within, items, added);
  count_from(s, number);
  return done;
}

void sorted_clear(Sorted *s) {
  for (uint32_t i = 1; i < leaves_count(s); i++)
    free(s->leaf[i].items);
  if (s->leaf != NULL) s->leaf_count = 1;
  s->count = leaves(s)->count = 0;
}

void sorted_free(Sorted *s) {
  sorted_clear(s);
  free(leaves(s)->items), free(s->leaf);
  *s = (Sorted){0};
}
