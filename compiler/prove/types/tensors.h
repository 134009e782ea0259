/* tensors.h -- persistent buffers between programs, by the plan's table of tensors. Private to
 * compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_TENSORS_H
#define LOCKSTEP_PROVE_TENSORS_H

#include "compiler/prove/types/typing.h"

/* A tensor's layer and the cell that it stands in. */
typedef struct Standing {
  uint32_t tensor; /* of the plan */
  uint32_t cell;
  int32_t layer;  /* TYPE_ANY: not of a stack */
  uint64_t first; /* from the start of the cell */
} Standing;

typedef struct Tensors {
  Standing *at; /* by cell */
  uint32_t count;
} Tensors;

/* Where every layer of every tensor stands. False: a finding says why not. */
bool tensors_open(Typing *t, Tensors *tensors);
void tensors_close(Tensors *tensors);

/* What init has left, as the first step finds it: every tensor has its values, a moment zeros.
 * Refuses what has not. */
void tensors_begin(Typing *t, const Tensors *tensors, Held *held);

/* Every parameter and its state is updated, or, where `may_change` is false, as it was: then it
 * counts as old. Refuses what is not. */
void tensors_end(Typing *t, const Tensors *tensors, Held *held, bool may_change);

/* The loss of every micro-batch stands in the control block, added up over all ranks. */
void loss_end(Typing *t, const Held *held);

/* What a step finds is what both leave: what differs is nothing to read. True: `start` changed. */
bool tensors_meet(Typing *t, Held *start, const Held *end);

#endif
