/* permute.h -- a permutation of 0 .. count-1 that needs no memory. */
#ifndef LOCKSTEP_PERMUTE_H
#define LOCKSTEP_PERMUTE_H

#include <stdint.h>

/* The image of `index`: for fixed (key, count) a bijection of [0, count). */
int64_t permute(uint64_t key, int64_t count, int64_t index);

#endif
