/* uses.c -- tables of adjoint.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/adjoint.h"
#include "compiler/prove/search.h"

/* ---- where values stand */

uint32_t stands_find(const Stands *s, uint64_t offset) {
  return SEARCH(s->at, s->count, end, offset + 1);
}

void stands_remove(Stands *s, uint32_t index) {
  s->count--;
  memmove(&s->at[index], &s->at[index + 1], (s->count - index) * sizeof *s->at);
}

bool stands_insert(Stands *s, Stand stand) {
  if (s->count == s->capacity) {
    uint32_t capacity = 2 * s->capacity + 8;
    Stand *grown = realloc(s->at, capacity * sizeof *grown);
    if (grown == NULL) return false;
    s->at = grown, s->capacity = capacity;
  }
  uint32_t at = stands_find(s, stand.first);
  while (at < s->count && s->at[at].first < stand.first)
    at++; /* rows between rows */
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

static Known *known_of(Uses *u, uint64_t name, bool *fresh) {
  Known *known = entry_of(&u->known, &u->known_count, &u->known_capacity, name, fresh);
  if (known == NULL) u->failed = true;
  return known;
}

/* What is known already; NULL: nothing. */
static Known *look_up(const Uses *u, uint64_t name) {
  if (u->known_capacity == 0) return NULL;
  Known *known = slot_of(u->known, u->known_capacity, name == 0 ? 1 : name);
  return known->key == 0 ? NULL : known;
}

bool uses_first(Uses *u, uint64_t name) {
  bool fresh = false;
  return known_of(u, name, &fresh) != NULL && fresh;
}

void uses_add(Uses *u, uint64_t name, uint64_t use) {
  bool fresh = false;
  Known *known = known_of(u, name, &fresh);
  if (known != NULL) known->sum += use;
}

void uses_unclear(Uses *u, uint64_t name) {
  bool fresh = false;
  Known *known = known_of(u, name, &fresh);
  if (known != NULL) known->unclear = true;
}

bool make_room(void **items, size_t count, size_t *capacity, size_t item_bytes) {
  if (count < *capacity) return true;
  size_t more = 2 * *capacity + 64;
  void *grown = realloc(*items, more * item_bytes);
  if (grown == NULL) return false;
  *items = grown, *capacity = more;
  return true;
}

void uses_alias(Uses *u, uint64_t name, uint64_t of, uint64_t factor) {
  bool fresh = false;
  Known *known = known_of(u, name, &fresh);
  if (known == NULL ||
      !make_room((void **)&u->aliases, u->alias_count, &u->alias_capacity, sizeof *u->aliases)) {
    u->failed = true;
    return;
  }
  u->aliases[u->alias_count++] = (Alias){of, factor, known->alias_first};
  known->alias_first = (uint32_t)u->alias_count;
}

/* ---- to other classes and back */

void uses_send(Uses *u, uint64_t name, uint64_t token) {
  bool fresh = false;
  uses_add(u, name, token);
  Known *known = known_of(u, hash_mix(43, token), &fresh);
  if (known != NULL) known->sent = true;
}

bool uses_return(Uses *u, uint64_t token) {
  Known *known = look_up(u, hash_mix(43, token));
  if (known == NULL || !known->sent || known->returned) return false;
  known->returned = true;
  return true;
}

/* ---- parts */

uint64_t part_factor(uint64_t offset, Tile tile) {
  uint64_t hash = hash_mix(hash_mix(23, offset), tile.rows);
  return hash_mix(hash_mix(hash, tile.inner), tile.stride) | 1;
}

/* A part of a part is a part of the whole, where its rows are parts of rows. */
static bool compose(const Part *outer, uint64_t *offset, Tile *tile) {
  const Tile *rows = &outer->tile;
  if (rows->rows > 1 && (tile->rows != rows->rows || tile->stride != rows->inner)) return false;
  *offset += outer->offset;
  if (rows->rows > 1) tile->stride = rows->stride;
  return true;
}

uint64_t uses_part(Uses *u, uint64_t of, uint64_t offset, Tile tile) {
  const Known *outer = look_up(u, of);
  if (outer != NULL && outer->part != 0 && compose(&u->parts[outer->part - 1], &offset, &tile))
    of = u->parts[outer->part - 1].of;
  uint64_t factor = part_factor(offset, tile), name = hash_mix(of, factor);
  bool fresh = false;
  Known *known = known_of(u, name, &fresh);
  if (known == NULL || known->part != 0) return name;
  if (!make_room((void **)&u->parts, u->part_count, &u->part_capacity, sizeof *u->parts)) {
    u->failed = true;
    return name;
  }
  u->parts[u->part_count++] = (Part){of, offset, tile};
  known->part = (uint32_t)u->part_count;
  uses_alias(u, of, name, factor);
  return name;
}

/* ---- sums */

/* A sum of sums, as deep as values are handed on unchanged: residual streams are long. What is
 * found is kept: values are used before their gradients are made. */
static bool sum_at_depth(Uses *u, uint64_t name, uint64_t *sum, int depth) {
  enum { DEPTH_MAX = 64 };
  *sum = 0;
  Known *known = look_up(u, name);
  if (known == NULL) return true; /* nobody uses it */
  if (known->unclear || depth > DEPTH_MAX) return false;
  if (!known->summed) {
    uint64_t total = known->sum;
    for (uint32_t i = known->alias_first; i != 0; i = u->aliases[i - 1].next) {
      uint64_t more = 0;
      if (!sum_at_depth(u, u->aliases[i - 1].of, &more, depth + 1)) return false;
      total += more * u->aliases[i - 1].factor;
    }
    known->total = total;
    known->summed = true;
  }
  *sum = known->total;
  return true;
}

bool uses_sum(Uses *u, uint64_t name, uint64_t *sum) {
  return sum_at_depth(u, name, sum, 0);
}

static bool reach_at_depth(const Uses *u, uint64_t from, uint64_t to, int depth) {
  enum { DEPTH_MAX = 24 };
  if (from == to) return true;
  const Known *known = look_up(u, from);
  if (known == NULL || depth > DEPTH_MAX) return false;
  for (uint32_t i = known->alias_first; i != 0; i = u->aliases[i - 1].next)
    if (u->aliases[i - 1].factor == 1 && reach_at_depth(u, u->aliases[i - 1].of, to, depth + 1))
      return true;
  return false;
}

bool uses_reach(const Uses *u, uint64_t from, uint64_t to) {
  return reach_at_depth(u, from, to, 0);
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
    if (u->forwards[i - 1].op == forward.op) return false;
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
  free(u->known), free(u->aliases), free(u->parts), free(u->forwards), free(u->places);
}
