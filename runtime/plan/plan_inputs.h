/* plan_inputs.h -- what the roles of inputs have in common. */
#ifndef LOCKSTEP_PLAN_INPUTS_H
#define LOCKSTEP_PLAN_INPUTS_H

#include "runtime/plan/plan.h"

/* Both come from the columns of a table; the loss compares with classes. */
static inline bool input_is_columns(uint32_t role) {
  return role == INPUT_COLUMNS || role == INPUT_CLASSES;
}

/* For each token: where its document begins in the sample, or its place in the document. */
static inline bool input_is_of_documents(uint32_t role) {
  return role == INPUT_BEGINS || role == INPUT_PLACES;
}

#endif
