/* intervals.h -- disjoint intervals of bytes, each with a number, that come and go anywhere.
 * Private to compiler/prove.
 *
 * A treap: a search tree by address that random priorities keep shallow (Seidel and Aragon 1996),
 * for a program of thousands of layers has hundreds of thousands. All zero is an empty one. */
#ifndef LOCKSTEP_PROVE_INTERVALS_H
#define LOCKSTEP_PROVE_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Interval {
  uint64_t first, end;
  uint32_t number;
} Interval;

typedef struct Intervals {
  struct IntervalNode *node; /* node[0] is none */
  uint32_t root, free, count, capacity;
} Intervals;

/* The first that ends behind `offset`; NULL: none does. Valid until the next change. */
const Interval *intervals_find(const Intervals *set, uint64_t offset);

/* Puts it in the place of whatever it covers; what stands out on either side stays. An empty one
 * changes nothing. False: out of memory, and it is not there. */
bool intervals_put(Intervals *set, Interval interval);

/* Takes out what begins at `first`, if anything does. */
void intervals_remove(Intervals *set, uint64_t first);

void intervals_free(Intervals *set);

#endif
