/* pack.c -- whole documents into windows of equal size: the longest first, each into the fullest
 * window that still holds it; of several the first. Longer documents are cut.
 *
 * Windows with the same room are a pairing heap by their number, and a bit for each room says
 * whether there is one. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tokens/tokens.h"

enum { NONE = -1, BITS = 64 };

typedef struct Windows {
  int64_t context;
  int32_t *child, *next; /* by window, in the heap of its room */
  int32_t *root;         /* by room; NONE: no window has it */
  uint64_t *has;         /* a bit for each room */
  int64_t count;
} Windows;

static int32_t meld(Windows *w, int32_t a, int32_t b) {
  if (a == NONE) return b;
  if (b == NONE) return a;
  const int32_t first = a < b ? a : b, other = a < b ? b : a;
  w->next[other] = w->child[first];
  w->child[first] = other;
  return first;
}

static void put(Windows *w, int32_t window, int64_t room) {
  w->child[window] = w->next[window] = NONE;
  w->root[room] = meld(w, w->root[room], window);
  w->has[room / BITS] |= (uint64_t)1 << room % BITS;
}

/* Takes the first window with this room. */
static int32_t take(Windows *w, int64_t room) {
  const int32_t first = w->root[room];
  int32_t paired = NONE, rest = NONE;
  for (int32_t at = w->child[first]; at != NONE;) { /* pairs of children, then all pairs */
    const int32_t second = w->next[at], after = second == NONE ? NONE : w->next[second];
    w->next[at] = NONE;
    if (second != NONE) w->next[second] = NONE;
    const int32_t pair = meld(w, at, second);
    w->next[pair] = paired;
    paired = pair;
    at = after;
  }
  while (paired != NONE) {
    const int32_t after = w->next[paired];
    w->next[paired] = NONE;
    rest = meld(w, rest, paired);
    paired = after;
  }
  w->root[room] = rest;
  if (rest == NONE) w->has[room / BITS] &= ~((uint64_t)1 << room % BITS);
  return first;
}

/* The least room of a window that holds `length`; 0: there is none. */
static int64_t room_for(const Windows *w, int64_t length) {
  for (int64_t i = length / BITS; i <= w->context / BITS; i++) {
    uint64_t bits = w->has[i];
    if (i == length / BITS) bits &= ~(uint64_t)0 << length % BITS;
    if (bits) return i * BITS + __builtin_ctzll(bits);
  }
  return 0;
}

/* ---- pieces */

static int64_t document_end(const TokenFile *file, int64_t document) {
  return document + 1 < file->document_count ? tokens_document(file, document + 1) : file->count;
}

/* In the order of files. Fills `piece`, or counts them only. */
static int64_t list_pieces(const TokenFile *const *files, int32_t count, int64_t context,
                           TokPiece *piece) {
  int64_t pieces = 0, file_first = 0;
  for (int32_t f = 0; f < count; file_first += files[f++]->count)
    for (int64_t d = 0; d < files[f]->document_count; d++) {
      const int64_t end = document_end(files[f], d);
      for (int64_t at = tokens_document(files[f], d); at < end; at += context, pieces++) {
        const int64_t length = end - at < context ? end - at : context;
        if (piece) piece[pieces] = (TokPiece){file_first + at, (int32_t)length, at + length < end};
      }
    }
  return pieces;
}

static int compare_pieces(const void *a, const void *b) {
  const TokPiece *x = a, *y = b;
  if (x->length != y->length) return x->length < y->length ? 1 : -1;
  return x->first < y->first ? -1 : x->first > y->first;
}

/* The window of each piece, which are sorted. */
static void place(Windows *w, const TokPiece *piece, int64_t pieces, int32_t *window) {
  for (int64_t i = 0; i < pieces; i++) {
    int64_t room = room_for(w, piece[i].length);
    window[i] = room > 0 ? take(w, room) : (int32_t)w->count++;
    if (room == 0) room = w->context;
    if (room > piece[i].length) put(w, window[i], room - piece[i].length);
  }
}

/* Pieces sorted by window, and within a window in the order in which they were added. */
static void gather(TokPacking *out, const TokPiece *sorted, int64_t pieces, const int32_t *window) {
  for (int64_t i = 0; i < pieces; i++)
    out->first_piece[window[i] + 1]++;
  for (int64_t i = 0; i < out->windows; i++)
    out->first_piece[i + 1] += out->first_piece[i];
  for (int64_t i = pieces; i-- > 0;) /* from the end, so that first_piece ends at the beginnings */
    out->piece[--out->first_piece[window[i] + 1]] = sorted[i];
  memmove(out->first_piece, out->first_piece + 1, (size_t)out->windows * sizeof *out->first_piece);
  out->first_piece[out->windows] = pieces;
}

static bool make_windows(Windows *w, int64_t context, int64_t most) {
  *w = (Windows){.context = context};
  w->child = malloc((size_t)most * sizeof *w->child);
  w->next = malloc((size_t)most * sizeof *w->next);
  w->root = malloc((size_t)(context + 1) * sizeof *w->root);
  w->has = calloc((size_t)(context / BITS + 1), sizeof *w->has);
  if (!w->child || !w->next || !w->root || !w->has) return false;
  for (int64_t i = 0; i <= context; i++)
    w->root[i] = NONE;
  return true;
}

bool tokens_pack(const TokenFile *const *files, int32_t count, int64_t context, TokPacking *out) {
  const int64_t pieces = list_pieces(files, count, context, NULL);
  *out = (TokPacking){0};
  if (pieces == 0) return true;
  if (pieces > INT32_MAX) return false;
  Windows w;
  TokPiece *sorted = malloc((size_t)pieces * sizeof *sorted);
  int32_t *window = malloc((size_t)pieces * sizeof *window);
  bool is_good = make_windows(&w, context, pieces) && sorted && window;
  if (is_good) {
    (void)list_pieces(files, count, context, sorted);
    qsort(sorted, (size_t)pieces, sizeof *sorted, compare_pieces);
    place(&w, sorted, pieces, window);
    out->windows = w.count;
    out->piece = malloc((size_t)pieces * sizeof *out->piece);
    out->first_piece = calloc((size_t)w.count + 2, sizeof *out->first_piece);
    is_good = out->piece && out->first_piece;
  }
  if (is_good) gather(out, sorted, pieces, window);
  free(w.child), free(w.next), free(w.root), free(w.has);
  free(sorted), free(window);
  if (!is_good) tokens_free_packing(out);
  return is_good;
}

void tokens_free_packing(TokPacking *packing) {
  free(packing->piece), free(packing->first_piece);
  *packing = (TokPacking){0};
}
