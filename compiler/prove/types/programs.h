/* programs.h -- running the calls of a program over what buffers hold. Private to
 * compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_PROGRAMS_H
#define LOCKSTEP_PROVE_PROGRAMS_H

#include "compiler/prove/types/typing.h"

/* What calls that were looked at before did: by segment, flags, and what they found. */
typedef struct Effects {
  struct Effect {
    uint64_t hash;
    uint32_t key, key_count;       /* into words */
    uint32_t result, result_count; /* Held by cell reached, and what is made */
  } * effect;
  uint32_t count, capacity;
  uint32_t *word;
  uint32_t word_count, word_capacity;
  uint32_t *slot;
  uint32_t slot_count;
} Effects;

bool effects_open(Effects *effects);
void effects_close(Effects *effects);

/* Calls of another class find other tensors. */
void effects_forget(Effects *effects);

/* Carries out one call. `held` is by cell. */
void run_call(Typing *t, Effects *effects, Held *held);

/* Runs a program to its end. */
void run_program(Typing *t, Effects *effects, const PlanProgram *program, Held *held);

/* One record: records.c. */
void type_record(Typing *t);

#endif
