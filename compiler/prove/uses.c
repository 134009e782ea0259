/* uses.c -- tables of adjoint.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/adjoint.h"

/* ---- where values stand */

uint32_t stands_find(const Stands *s, uint64_t offset) {
  uint32_t low = 0, high = s->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->at[middle].end > offset)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void stands_remove(Stands *s, uint64_t first, uint64_t end) {
  uint32_t at = stands_find(s, first), stop = at;
  while (stop < s->count && s->at[stop].first < end)
    stop++;
  if (stop == at) return;
  memmove(&s->at[at], &s->at[stop], (s->count - stop) * sizeof *s->at);
  s->count -= stop - at;
}

/* What a part was overwritten of is no value any more. */
bool stands_put(Stands *s, Stand stand) {
  stands_remove(s, stand.first, stand.end);
  if (s->count == s->capacity) {
    uint32_t capacity = 2 * s->capacity + 8;
    Stand *grown = realloc(s->at, capacity * sizeof *grown);
    if (grown == NULL) return false;
    s->at = grown, s->capacity = capacity;
  }
  uint32_t at = stands_find(s, stand.first);
  memmove(&s->at[at + 1], &s->at[at], (s->count - at) * sizeof *s->at);
  s->at[at] = stand;
  s->count++;
  return true;
}

/* ---- who used them */

static Known *slot_of(Known *table, size_t capacity, uint64_t key) {
  size_t at = (size_t)(key * 0x9e3779b97f4a7c15u) & (capacity - 1);
  while (table[at].key != 0 && table[at].key != key)
    at = (at + 1) & (capacity - 1);
  return &table[at];
}

/* The entry of the key, made when it is not there; NULL: out of memory. */
static Known *entry_of(Known **table, size_t *count, size_t *capacity, uint64_t key, bool *fresh) {
  key = key == 0 ? 1 : key;
  if (2 * (*count + 1) > *capacity) {
    size_t more = *capacity ? 2 * *capacity : 256;
    Known *grown = calloc(more, sizeof *grown);
    if (grown == NULL) return NULL;
    for (size_t i = 0; i < *capacity; i++)
      if ((*table)[i].key != 0) *slot_of(grown, more, (*table)[i].key) = (*table)[i];
    free(*table);
    *table = grown, *capacity = more;
  }
  Known *slot = slot_of(*table, *capacity, key);
  *fresh = slot->key == 0;
  if (*fresh) {
    *slot = (Known){.key = key};
    ++*count;
  }
  return slot;
}

Known *uses_of(Uses *u, uint64_t name, bool *fresh) {
  Known *known = entry_of(&u->known, &u->known_count, &u->known_capacity, name, fresh);
  if (known == NULL) u->failed = true;
  return known;
}

void uses_add(Uses *u, uint64_t name, uint64_t use) {
  bool fresh = false;
  Known *known = uses_of(u, name, &fresh);
  if (known != NULL) known->sum += use;
}

void uses_unclear(Uses *u, uint64_t name) {
  bool fresh = false;
  Known *known = uses_of(u, name, &fresh);
  if (known != NULL) known->unclear = true;
}

static bool make_room(void **items, size_t count, size_t *capacity, size_t item_bytes) {
  if (count < *capacity) return true;
  size_t more = 2 * *capacity + 64;
  void *grown = realloc(*items, more * item_bytes);
  if (grown == NULL) return false;
  *items = grown, *capacity = more;
  return true;
}

void uses_alias(Uses *u, uint64_t name, uint64_t of) {
  bool fresh = false;
  Known *known = uses_of(u, name, &fresh);
  if (known == NULL ||
      !make_room((void **)&u->aliases, u->alias_count, &u->alias_capacity, sizeof *u->aliases)) {
    u->failed = true;
    return;
  }
  u->aliases[u->alias_count++] = (Alias){of, known->alias_first};
  known->alias_first = (uint32_t)u->alias_count;
}

/* A sum of sums, as deep as values are handed on unchanged: residual streams are long. */
static bool sum_at_depth(const Uses *u, uint64_t name, uint64_t *sum, int depth) {
  enum { DEPTH_MAX = 64 };
  if (u->known_capacity == 0 || depth > DEPTH_MAX) return false;
  const Known *known = slot_of(u->known, u->known_capacity, name == 0 ? 1 : name);
  if (known->key == 0 || known->unclear || (known->sum == 0 && known->alias_first == 0))
    return false;
  *sum = known->sum;
  for (uint32_t i = known->alias_first; i != 0; i = u->aliases[i - 1].next) {
    uint64_t more = 0;
    if (!sum_at_depth(u, u->aliases[i - 1].of, &more, depth + 1)) return false;
    *sum += more;
  }
  return true;
}

/* What is found is kept: values are used before their gradients are made. */
bool uses_sum(const Uses *u, uint64_t name, uint64_t *sum) {
  if (!sum_at_depth(u, name, sum, 0)) return false;
  Known *known = slot_of(u->known, u->known_capacity, name == 0 ? 1 : name);
  known->sum = *sum;
  known->alias_first = 0;
  return true;
}

/* ---- what was computed */

bool uses_forward(Uses *u, Forward forward) {
  bool fresh = false;
  Known *place = entry_of(&u->places, &u->place_count, &u->place_capacity, forward.place, &fresh);
  if (place == NULL || !make_room((void **)&u->forwards, u->forward_count, &u->forward_capacity,
                                  sizeof *u->forwards)) {
    u->failed = true;
    return false;
  }
  for (uint32_t i = place->alias_first; i != 0; i = u->forwards[i - 1].next)
    if (memcmp(u->forwards[i - 1].name, forward.name, sizeof forward.name) == 0) return false;
  forward.next = place->alias_first;
  u->forwards[u->forward_count++] = forward;
  place->alias_first = (uint32_t)u->forward_count;
  return true;
}

Forward *uses_find(const Uses *u, uint64_t place) {
  if (u->place_capacity == 0) return NULL;
  const Known *slot = slot_of(u->places, u->place_capacity, place == 0 ? 1 : place);
  return slot->key == 0 ? NULL : &u->forwards[slot->alias_first - 1];
}

Forward *uses_next(const Uses *u, const Forward *forward) {
  return forward->next == 0 ? NULL : &u->forwards[forward->next - 1];
}

void uses_close(Uses *u) {
  free(u->known), free(u->aliases), free(u->forwards), free(u->places);
}
