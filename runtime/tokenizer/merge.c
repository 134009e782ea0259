/* merge.c -- the ids of one piece: symbols in a list, merged by rank, leftmost first. A heap has
 * the pairs that could be merged; a pair that has changed since is skipped. n log n for n symbols.
 * Short pieces and their ids are kept in slots by hash, because text repeats its words. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/tokenizer/inside.h"

enum { SLOTS = 1 << 16, SLOT_TEXT = 62, SLOT_IDS = 16 };

/* 128 bytes: two lines of the cache */
typedef struct Slot {
  uint8_t bytes, count;
  char text[SLOT_TEXT];
  uint32_t id[SLOT_IDS];
} Slot;

typedef struct Symbol {
  int32_t before, after; /* -1: none */
  uint32_t id;
  bool is_gone; /* joined to the previous one */
} Symbol;

typedef struct MergePair {
  uint32_t rank;
  int32_t at; /* the left symbol */
} MergePair;

struct Merger {
  const Tokenizer *t;
  Slot *slot;
  Symbol *symbol;
  int64_t count, room;
  MergePair *heap;
  int64_t heap_count, heap_room;
  int64_t dropped;
};

Merger *merger_new(const Tokenizer *t) {
  Merger *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->t = t;
  m->slot = calloc(SLOTS, sizeof *m->slot);
  if (m->slot) return m;
  free(m);
  return NULL;
}

void merger_free(Merger *m) {
  if (!m) return;
  free(m->slot), free(m->symbol), free(m->heap);
  free(m);
}

int64_t merger_dropped(const Merger *m) {
  return m->dropped;
}

/* ---- the heap: the least rank first, of equals the leftmost */

static bool comes_before(MergePair a, MergePair b) {
  return a.rank < b.rank || (a.rank == b.rank && a.at < b.at);
}

static void push(Merger *m, MergePair candidate) {
  int64_t i = m->heap_count++;
  for (; i > 0 && comes_before(candidate, m->heap[(i - 1) / 2]); i = (i - 1) / 2)
    m->heap[i] = m->heap[(i - 1) / 2];
  m->heap[i] = candidate;
}

static MergePair pop(Merger *m) {
  MergePair first = m->heap[0], last = m->heap[--m->heap_count];
  int64_t i = 0;
  for (int64_t child = 1; child < m->heap_count; child = 2 * i + 1) {
    if (child + 1 < m->heap_count && comes_before(m->heap[child + 1], m->heap[child])) child++;
    if (!comes_before(m->heap[child], last)) break;
    m->heap[i] = m->heap[child];
    i = child;
  }
  m->heap[i] = last;
  return first;
}

/* ---- symbols */

static bool make_room(Merger *m, int64_t symbols) {
  if (symbols > m->room) {
    Symbol *symbol = realloc(m->symbol, (size_t)(2 * symbols) * sizeof *symbol);
    if (!symbol) return false;
    m->symbol = symbol, m->room = 2 * symbols;
  }
  /* a pair for each symbol, and each merge removes one symbol and adds two pairs */
  if (3 * symbols > m->heap_room) {
    MergePair *heap = realloc(m->heap, (size_t)(6 * symbols) * sizeof *heap);
    if (!heap) return false;
    m->heap = heap, m->heap_room = 6 * symbols;
  }
  return true;
}

static void add_symbol(Merger *m, int32_t id) {
  m->symbol[m->count] = (Symbol){(int32_t)m->count - 1, (int32_t)m->count + 1, (uint32_t)id, false};
  m->count++;
}

/* The tokens of a character's bytes. False: one of them is missing. */
static bool add_fallback(Merger *m, const char *at, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (m->t->byte_id[(uint8_t)at[i]] < 0) return false;
  for (size_t i = 0; i < bytes; i++)
    add_symbol(m, m->t->byte_id[(uint8_t)at[i]]);
  return true;
}

/* One symbol a byte or a character. Adjacent characters without a token are one unk, if the file
 * says so; as in Hugging Face's, an unk waits while characters fall back to bytes. */
static void fill_symbols(Merger *m, const char *piece, size_t bytes) {
  const Tokenizer *t = m->t;
  bool has_unk = false;
  m->count = 0;
  for (size_t i = 0, step = 1; i < bytes; i += step) {
    step = t->is_byte_level ? 1 : utf8_bytes(piece[i]);
    int32_t id = t->is_byte_level ? t->byte_id[(uint8_t)piece[i]]
                                  : vocabulary_find(&t->words, piece + i, step);
    if (id >= 0) {
      if (has_unk) add_symbol(m, t->unk);
      has_unk = false;
      add_symbol(m, id);
    } else if (t->is_byte_level || !t->byte_fallback || !add_fallback(m, piece + i, step)) {
      if (has_unk && !t->fuse_unk) add_symbol(m, t->unk);
      has_unk = t->unk >= 0;
      m->dropped += t->unk < 0;
    }
  }
  if (has_unk) add_symbol(m, t->unk);
  if (m->count > 0) m->symbol[m->count - 1].after = -1;
}

static const TokenMerge *merge_at(const Merger *m, int32_t at) {
  int32_t after = m->symbol[at].after;
  return after < 0 ? NULL : merge_find(m->t, m->symbol[at].id, m->symbol[after].id);
}

static void push_pair(Merger *m, int32_t at) {
  const TokenMerge *merge = at < 0 ? NULL : merge_at(m, at);
  if (merge) push(m, (MergePair){merge->rank, at});
}

static void merge_all(Merger *m) {
  m->heap_count = 0;
  for (int32_t i = 0; i + 1 < m->count; i++)
    push_pair(m, i);
  while (m->heap_count > 0) {
    MergePair next = pop(m);
    Symbol *left = &m->symbol[next.at];
    if (left->is_gone) continue;
    const TokenMerge *merge = merge_at(m, next.at);
    if (!merge || merge->rank != next.rank) continue; /* another pair since */
    Symbol *right = &m->symbol[left->after];
    right->is_gone = true;
    left->id = merge->id;
    left->after = right->after;
    if (right->after >= 0) m->symbol[right->after].before = next.at;
    push_pair(m, left->before);
    push_pair(m, next.at);
  }
}

static bool add_merged(Merger *m, const char *piece, size_t bytes, TokenIds *ids) {
  if (!make_room(m, (int64_t)bytes)) return false;
  fill_symbols(m, piece, bytes);
  merge_all(m);
  for (int32_t i = m->count > 0 ? 0 : -1; i >= 0; i = m->symbol[i].after)
    if (!ids_add(ids, m->symbol[i].id)) return false;
  return true;
}

/* ---- pieces */

static bool add_kept(const Slot *slot, TokenIds *ids) {
  for (uint32_t i = 0; i < slot->count; i++)
    if (!ids_add(ids, slot->id[i])) return false;
  return true;
}

static void keep(Slot *slot, const char *piece, size_t bytes, const TokenIds *ids, int64_t first) {
  if (ids->count - first > SLOT_IDS || ids->count == first) return;
  slot->bytes = (uint8_t)bytes;
  slot->count = (uint8_t)(ids->count - first);
  memcpy(slot->text, piece, bytes);
  memcpy(slot->id, ids->at + first, slot->count * sizeof *slot->id);
}

bool merger_add(Merger *m, const char *piece, size_t bytes, TokenIds *ids) {
  if (bytes == 0) return true;
  int64_t first = ids->count, dropped = m->dropped;
  Slot *slot = NULL;
  if (bytes <= SLOT_TEXT) {
    slot = &m->slot[XXH3_64bits(piece, bytes) & (SLOTS - 1)];
    if (slot->bytes == bytes && memcmp(slot->text, piece, bytes) == 0) return add_kept(slot, ids);
  }
  int32_t whole = m->t->ignore_merges ? vocabulary_find(&m->t->words, piece, bytes) : NO_TOKEN;
  bool is_good = whole >= 0 ? ids_add(ids, (uint32_t)whole) : add_merged(m, piece, bytes, ids);
  if (is_good && slot && m->dropped == dropped) keep(slot, piece, bytes, ids, first);
  return is_good;
}
