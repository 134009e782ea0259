/* plan_mutate.h -- plans with one thing wrong, by seed: what a proof should refuse.
 *
 * Any plan will do. Some mutants are good plans again: an edge that another edge implies, two calls
 * whose order is free, a condition that no call tells from the old one. */
#ifndef LOCKSTEP_TESTS_PLAN_MUTATE_H
#define LOCKSTEP_TESTS_PLAN_MUTATE_H

#include "tests/unit/plan_builder.h"

typedef enum MutationKind {
  MUTATION_DROP,      /* a record, a call's records, an edge, a wait */
  MUTATION_DUPLICATE, /* a call in place of another, a record twice */
  MUTATION_SWAP,      /* two operands, two bindings, two calls of different segments */
  MUTATION_RETARGET,  /* a binding, an operand, a communicator, a distance, who a member is */
  MUTATION_RESIZE,    /* an operand, a buffer, a dim, a piece */
  MUTATION_REORDER,   /* two records of a segment, two neighbouring calls */
  MUTATION_OVERLAP,   /* buffers, lifetimes, tensors */
  MUTATION_MEANING,   /* flags, conditions, layers, micro-batches, loops, accesses, reductions */
  MUTATION_EVENT,     /* edges, waits, lanes, the order of a lane */
  MUTATION_KERNEL,    /* another kernel of the same operands, one operand less, accumulate */
  MUTATION_CONSTANT,  /* attrs, dims, keys, varies, distances, state_axes, layouts of tensors */
  MUTATION_KIND_COUNT
} MutationKind;

extern const char *const mutation_names[MUTATION_KIND_COUNT];

enum { MUTATION_TEXT_BYTES = 160 };

/* Fills `mutant`, which must be empty, with a copy of the plan that differs in one place, and says
 * where in `text`. False, and an empty mutant: this seed changes nothing. */
bool plan_mutate(const Plan *plan, uint64_t seed, MutationKind kind, PlanBuilder *mutant,
                 char text[MUTATION_TEXT_BYTES]);

#endif
