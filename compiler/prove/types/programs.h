/* programs.h -- running programs over what buffers hold. Private to compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_PROGRAMS_H
#define LOCKSTEP_PROVE_PROGRAMS_H

#include "compiler/prove/types/typing.h"

/* One record: records.c. */
void type_record(Typing *t);

/* A program to its end: programs.c. */
void run_program(Typing *t, const PlanProgram *program, Held *held);
void effects_close(Effects *effects);

#endif
