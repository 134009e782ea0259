/* cached.h -- how attention_cached divides the positions of a head on a GPU. */
#ifndef LOCKSTEP_KERNELS_CACHED_H
#define LOCKSTEP_KERNELS_CACHED_H

#include <stdint.h>

enum {
  /* Two blocks for each of an H100's 132 multiprocessors are there at once: batch x seq x heads of
   * them have a head of a token each, and with fewer heads each has several. */
  CACHED_BLOCKS_AT_ONCE = 264,
  CACHED_PART_LEAST = 128, /* positions: two rounds of the warps of a block */
  CACHED_PARTS_MOST = 64
};

/* The number of parts; `dims` are those of the kernel's row. */
static inline int64_t cached_parts(const int64_t *dims) {
  const int64_t blocks = dims[0] * dims[1] * dims[2], context = dims[6];
  const int64_t most = (context + CACHED_PART_LEAST - 1) / CACHED_PART_LEAST;
  int64_t parts = blocks > 0 ? CACHED_BLOCKS_AT_ONCE / blocks : 1;
  if (parts > most) parts = most;
  if (parts > CACHED_PARTS_MOST) parts = CACHED_PARTS_MOST;
  return parts > 1 ? parts : 1;
}

#endif
