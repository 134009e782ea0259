/* rate.h -- the rates between ranks on some seats of one node. Private to the room. */
#ifndef LOCKSTEP_RATE_H
#define LOCKSTEP_RATE_H

#include "compiler/machine/place/fabric.h"

typedef struct NodeRate {
  double ring_bytes_per_s; /* of all rings together that the links between them allow */
  double pair_bytes_per_s; /* of one to the next, the slowest */
  bool is_slow;            /* rings pass PCIe */
  bool is_between_sockets; /* rings use a path that the node has only once */
} NodeRate;

/* A cache of results by set of seats of one kind: a search asks for the same sets again and again.
 */
typedef struct RateMemo RateMemo;
RateMemo *rate_memo(Arena *arena);

/* `seats`: two or more, in the order of the ranks. memo: of this kind, or NULL. */
NodeRate rate_of_seats(const NodeKind *kind, RateMemo *memo, const int32_t *seats, int32_t count);

/* The smaller of two rates; a rate of 0 is unknown. */
static inline double least_known(double a, double b) {
  if (a <= 0) return b;
  return b <= 0 || a < b ? a : b;
}

#endif
