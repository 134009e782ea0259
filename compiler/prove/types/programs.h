/* programs.h -- running programs over what buffers hold. Private to compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_PROGRAMS_H
#define LOCKSTEP_PROVE_PROGRAMS_H

#include "compiler/prove/types/typing.h"

/* One record: records.c. */
void type_record(Typing *t);

/* One call: effects.c. */
void run_call(Typing *t);
void effects_close(Effects *effects);

/* A program to its end: programs.c. */
void run_program(Typing *t, const PlanProgram *program, Held *held);

/* ---- between programs: tensors.c */

/* What the program has left, which is over: after init every tensor has its values, and a moment
 * zeros; after a step all is updated, and from now on the old; evaluation changes nothing. Refuses
 * what is not so. */
void tensors_check(Typing *t, Held *held);

/* The loss of every micro-batch stands in the control block, added up over all ranks. */
void loss_check(Typing *t, const Held *held);

/* What a step finds is what both leave: what differs is nothing to read. True: `start` changed. */
bool tensors_meet(Typing *t, Held *start, const Held *end);

#endif
