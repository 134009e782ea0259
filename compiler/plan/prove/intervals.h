/* intervals.h -- disjoint intervals of bytes, each with a number, added in any order.
 * Private to compiler/plan/prove.
 *
 * A treap: a search tree by address that random priorities keep shallow (Seidel and Aragon 1996),
 * because a program of thousands of layers has hundreds of thousands of intervals. A zeroed struct
 * is an empty one. */
#ifndef LOCKSTEP_PROVE_INTERVALS_H
#define LOCKSTEP_PROVE_INTERVALS_H

#include "compiler/base/base.h"

typedef struct Interval {
  uint64_t first, end;
  uint32_t number;
} Interval;

typedef struct Intervals {
  struct IntervalNode *node; /* node[0] means no node */
  size_t capacity;
  uint32_t root, free, count;
} Intervals;

/* The first interval that ends after `offset`, or NULL. Valid until the next change. */
const Interval *intervals_find(const Intervals *set, uint64_t offset);

/* Adds an interval and removes whatever it covers; parts that reach beyond it on either side stay.
 * An empty one changes nothing. */
void intervals_put(Arena *arena, Intervals *set, Interval interval);

/* Adds an interval and merges it with all that it overlaps. */
void intervals_join(Arena *arena, Intervals *set, uint64_t first, uint64_t end);

/* Removes all. */
static inline void intervals_clear(Intervals *set) {
  set->root = set->free = set->count = 0;
}

#endif
