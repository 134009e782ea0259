/* plan_text.h -- what the printer and the parser of the text form share: names of enums, flags and
 * strings. */
#ifndef LOCKSTEP_PLAN_TEXT_H
#define LOCKSTEP_PLAN_TEXT_H

#include "runtime/plan/plan.h"

/* Tier_names[TIER_HOST] is "host"; one array per enum of plan.h, of Tier_COUNT entries. */
#define PLAN_E(name) extern const char *const name##_names[];
#define PLAN_V(constant, text)
#define PLAN_X(name)
PLAN_ENUMS(PLAN_E, PLAN_V, PLAN_X)
#undef PLAN_E
#undef PLAN_V
#undef PLAN_X
extern const char *const DType_names[];
extern const char *const CALL_names[CALL_FLAGS_BITS]; /* by bit */

/* The strings of a plan by their text. Of equal texts the first is found. */
typedef struct PlanNames {
  const char *strings;
  uint32_t *slot; /* offset + 1; 0 = empty */
  uint32_t slot_count;
} PlanNames;

/* `strings` ends with a NUL. False: out of memory. */
bool plan_names_begin(PlanNames *names, const char *strings, uint32_t strings_count);
uint32_t plan_names_find(const PlanNames *names, const char *text); /* PLAN_NONE: not there */
void plan_names_end(PlanNames *names);

#endif
