/* block.h -- what the segments of a block of parameters share. Private to segments/. */
#ifndef LOCKSTEP_BLOCK_H
#define LOCKSTEP_BLOCK_H

#include "compiler/draft/roles.h"
#include "compiler/draft/words.h"
#include "kernels/contract/contract.h"

/* Pairs that fit into the dims of one gather_pieces. */
enum { PIECE_PAIRS_MAX = (KERNEL_DIMS_MAX - 2) / 2 };

int32_t block_segment(Draft *d, int32_t b, SegmentWord word);

/* Elements of a parameter that one rank updates: all, or its piece. */
int64_t own_elements(const Draft *d, ParamId p);

/* The base that holds the gradients a rank updates from. */
BaseRole own_grad(const Draft *d, int32_t b);

/* Appends the rank's own elements of parameter p in `role`: all of it, its piece within the whole,
 * or its place in the shard. */
Operand *own_operand(Draft *d, int32_t segment, Record *record, ParamId p, BaseRole role,
                     Access access);

/* gather, reduce, clear and join of block b. */
void reduce_segments_build(Draft *d, int32_t b);

#endif
