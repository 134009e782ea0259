/* plan_mutator.h -- what the ways to change a plan share: chance, choices, and words. Only
 * plan_mutate*.c include it. */
#ifndef LOCKSTEP_TESTS_PLAN_MUTATOR_H
#define LOCKSTEP_TESTS_PLAN_MUTATOR_H

#include "tests/unit/plan_mutate.h"

typedef struct Mutator {
  PlanBuilder *b;
  uint64_t state;
  char *text;
} Mutator;

/* One way to change the plan: false, and perhaps half done, when it found nothing to change. */
typedef bool Mutate(Mutator *m);

/* Ways of a kind, ended by NULL: plan_mutate_event.c, and plan_mutate_number.c. */
extern Mutate *const mutate_event_ways[], *const mutate_kernel_ways[],
                                              *const mutate_constant_ways[];
Mutate mutate_drop_edge, mutate_drop_wait;

uint32_t pick_below(Mutator *m, uint32_t limit);

#define ANY(m, table)            (&(m)->b->table[pick_below(m, (m)->b->table##_count)])
#define NUMBER(m, table, record) ((uint32_t)((record) - (m)->b->table))

PlanProgram *pick_program(Mutator *m, ProgramKind kind);

/* A random call of a training step. NULL: there is none. */
PlanCall *pick_call(Mutator *m);
PlanSegment *pick_segment(Mutator *m);
PlanRecord *pick_record(Mutator *m);
PlanRecord *pick_communication(Mutator *m);
PlanOperand *pick_operand(Mutator *m);

/* Says what the mutant is. True. */
bool mutant_said(Mutator *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "linear_dw" or "all_reduce"; the segment's name. */
const char *mutant_record_name(const Mutator *m, const PlanRecord *record);
const char *mutant_call_name(const Mutator *m, const PlanCall *call);

#endif
