/* plan_inputs.h -- what the roles of inputs have in common. */
#ifndef LOCKSTEP_PLAN_INPUTS_H
#define LOCKSTEP_PLAN_INPUTS_H

#include "runtime/plan/plan.h"

/* Both come from the columns of a table; the loss compares with classes. */
static inline bool input_is_columns(uint32_t role) {
  return role == INPUT_COLUMNS || role == INPUT_CLASSES;
}

/* Of tokens: where the document of each begins in the sample, and its place in that. */
static inline bool input_is_of_documents(uint32_t role) {
  return role == INPUT_BEGINS || role == INPUT_PLACES;
}

#endif
