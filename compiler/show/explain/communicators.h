/* communicators.h -- what the screens say of NCCL's communicators. Private to explain/. */
#ifndef LOCKSTEP_EXPLAIN_COMMUNICATORS_H
#define LOCKSTEP_EXPLAIN_COMMUNICATORS_H

#include "compiler/draft/cost/communicators.h"
#include "compiler/show/explain/words.h"

/* Prints a line for each communicator of a plan for GPUs. */
void explain_communicators(const Compiled *compiled, FILE *out);

/* Writes "communicators":[...] of one class; empty if there are none. */
void explain_communicators_json(const Compiled *compiled, uint32_t class, FILE *out);

#endif
