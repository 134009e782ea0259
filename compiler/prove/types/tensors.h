/* tensors.h -- persistent buffers between programs, by the plan's table of tensors. Private to
 * compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_TENSORS_H
#define LOCKSTEP_PROVE_TENSORS_H

#include "compiler/prove/types/typing.h"

/* What the program has left, which is over: after init every tensor has its values, and a moment
 * zeros; after a step all is updated, and from now on the old; evaluation changes nothing. Refuses
 * what is not so. */
void tensors_check(Typing *t, Held *held);

/* The loss of every micro-batch stands in the control block, added up over all ranks. */
void loss_check(Typing *t, const Held *held);

/* What a step finds is what both leave: what differs is nothing to read. True: `start` changed. */
bool tensors_meet(Typing *t, Held *start, const Held *end);

#endif
