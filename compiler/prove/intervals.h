/* intervals.h -- disjoint intervals of bytes, each with a number, added in any order.
 * Private to compiler/prove.
 *
 * A treap: a search tree by address that random priorities keep shallow (Seidel and Aragon 1996),
 * because a program of thousands of layers has hundreds of thousands of intervals. A zeroed struct
 * is an empty one. */
#ifndef LOCKSTEP_PROVE_INTERVALS_H
#define LOCKSTEP_PROVE_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Interval {
  uint64_t first, end;
  uint32_t number;
} Interval;

typedef struct Intervals {
  struct IntervalNode *node; /* node[0] stands for no node */
  uint32_t root, free, count, capacity;
} Intervals;

/* The first interval that ends after `offset`, or NULL. Valid until the next change. */
const Interval *intervals_find(const Intervals *set, uint64_t offset);

/* Adds an interval and removes whatever it covers; parts that reach beyond it on either side stay.
 * An empty one changes nothing. False: out of memory, and it is not added. */
bool intervals_put(Intervals *set, Interval interval);

/* Adds an interval as one with all that it overlaps. False: out of memory. */
bool intervals_join(Intervals *set, uint64_t first, uint64_t end);

void intervals_free(Intervals *set);

#endif
