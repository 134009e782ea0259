/* automatic.h -- offload = "auto": which states and activations are offloaded, and which
 * activations are recomputed. */
#ifndef LOCKSTEP_AUTOMATIC_H
#define LOCKSTEP_AUTOMATIC_H

#include "compiler/compile.h"

/* Puts the fastest draft that fits into `out`, with what it moves and why; without rates the first
 * in the order of keys. Nothing moves if drafts[0] fits. Where nothing fits: the smallest.
 * `drafts`: of `count` recomputations, without moves. False when reported. */
bool automatic_choose(Compile *c, const Job *job, Compiled *out, const Recompute *tries,
                      Draft *const *drafts, int32_t count);

#endif
