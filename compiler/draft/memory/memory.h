/* memory.h -- from lifetimes to offsets: where each buffer of every program lies in its stage's
 * arena.
 *
 * In: a draft with calls. Out: an offset for every transient buffer, the peak of each program, and
 * the arena size of every stage. */
#ifndef LOCKSTEP_MEMORY_H
#define LOCKSTEP_MEMORY_H

#include "compiler/draft/draft.h"

void memory_pack(Draft *d);

/* Returns the most bytes of device memory that are alive at once in a stage's train step: the
 * live_bytes that memory_pack sets, computed without packing. */
int64_t memory_live(const Draft *d, int32_t stage);

/* Returns the bytes of the arena of that step after packing: its arena_bytes where no other program
 * needs more. */
int64_t memory_packed(const Draft *d, int32_t stage);

#endif
