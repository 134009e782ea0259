/* rate.h -- how fast ranks that sit on some seats of one node are together. Private to the room. */
#ifndef LOCKSTEP_RATE_H
#define LOCKSTEP_RATE_H

#include "compiler/place/fabric.h"

typedef struct NodeRate {
  double ring_bytes_per_s; /* of all rings that the links between them allow, together */
  double pair_bytes_per_s; /* of one to the next, the slowest */
  bool is_slow;            /* they pass PCIe */
  bool is_between_sockets; /* rings pass a path that the node has once, for all */
} NodeRate;

/* What has been worked out for sets of seats of one kind: a search asks for the same ones over and
 * over. */
typedef struct RateMemo RateMemo;
RateMemo *rate_memo(Arena *arena);

/* `seats`: two or more, in the order of the ranks. memo: of this kind, or NULL. */
NodeRate rate_of_seats(const NodeKind *kind, RateMemo *memo, const int32_t *seats, int32_t count);

/* The smaller of two, where 0 is unknown. */
static inline double least_known(double a, double b) {
  if (a <= 0) return b;
  return b <= 0 || a < b ? a : b;
}

#endif
