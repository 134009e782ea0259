/* pack.h -- from lifetimes to offsets: the one packer, used for a segment's scratch and for a
 * program's buffers. */
#ifndef LOCKSTEP_PACK_H
#define LOCKSTEP_PACK_H

#include "compiler/base/base.h"

typedef struct PackItem {
  int64_t size_bytes;
  int32_t first, last; /* positions, inclusive */
  int64_t offset;      /* out */
} PackItem;

/* Gives every item an offset (multiple of align_bytes, from 0) such that items alive together do
 * not overlap. Returns the end of the highest one. Greedy by decreasing size at the lowest free
 * offset, and by other orders when that leaves more than 1 % above the bound; the best is kept.
 * (Pisarchyk & Lee, arXiv:2001.03288, section 5.) */
int64_t pack_items(Arena *arena, PackItem *items, int32_t count, int64_t align_bytes);

/* Most bytes alive at one position, sizes rounded up to align_bytes: no packing is smaller. */
int64_t pack_lower_bound(Arena *arena, const PackItem *items, int32_t count, int64_t align_bytes);

#endif
