/* arrangements.h -- all arrangements of one key's parts, and the least memory and time of each.
 * Private to bounds.c and arrangements.c. */
#ifndef LOCKSTEP_ARRANGEMENTS_H
#define LOCKSTEP_ARRANGEMENTS_H

#include "compiler/search/bounds.h"
#include "compiler/search/cuts.h"

typedef struct RingRate {
  int64_t group;
  double bytes_per_s;
} RingRate;

typedef struct Bounds {
  Arena *arena;
  Bench *bench;
  const PartsKeys *keys;
  const PartsKey *key;
  const Draft *draft; /* NULL: the model cannot be cut so */
  CutRule why;        /* then */
  Candidates *out;
  RingRate rates[64];
  int32_t rate_count;
} Bounds;

/* Fills in the least bytes and time of an arrangement whose states are shared by `group` ranks. */
void bound(Bounds *b, const Cut *cut, Candidate *at, int64_t group);

#endif
