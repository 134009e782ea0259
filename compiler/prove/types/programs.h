/* programs.h -- running the calls of a program over what buffers hold. Private to
 * compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_PROGRAMS_H
#define LOCKSTEP_PROVE_PROGRAMS_H

#include "compiler/prove/types/typing.h"

/* Carries out one call: effects.c. */
void run_call(Typing *t);
void effects_close(Effects *effects);

/* Runs a program to its end. */
void run_program(Typing *t, const PlanProgram *program, Held *held);

/* One record: records.c. */
void type_record(Typing *t);

#endif
