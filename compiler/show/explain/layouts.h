/* layouts.h -- the communications of a plan, equal ones in one line. Private to explain/. */
#ifndef LOCKSTEP_EXPLAIN_LAYOUTS_H
#define LOCKSTEP_EXPLAIN_LAYOUTS_H

#include "compiler/show/explain/words.h"

/* Communications of one group that would be shown alike. */
typedef struct LayoutLine {
  const PlanRecord *record; /* the first of them */
  const char *value;
  int64_t *times; /* by class: in a step of one rank */
} LayoutLine;

/* Those of a segment, which is a region and a direction, over the same ranks. */
typedef struct LayoutGroup {
  const char *name; /* "h forward" */
  uint32_t comm;
  VEC(LayoutLine) lines;
} LayoutGroup;

typedef struct Layouts {
  const Compiled *compiled;
  Arena *arena;
  const int64_t **times; /* by class and record: in a step of one rank */
  VEC(LayoutGroup) groups;
} Layouts;

Layouts layouts_of(const Compiled *compiled);

/* Bytes of the whole value that the communicator holds; for an exchange, of what is sent. */
uint64_t whole_bytes(const Plan *plan, const PlanRecord *record);

/* Bytes that one rank sends for it, by ring algorithms. */
double sent_bytes(const Plan *plan, const PlanRecord *record);

/* Bytes that one rank sends in a step over exactly these axes, on the stage that sends most. */
typedef struct SentMost {
  double bytes;
  uint64_t calls;       /* of NCCL, on the stage that makes most */
  const PlanLink *link; /* of the slowest class; NULL: unknown */
} SentMost;

SentMost sent_most(const Layouts *l, uint32_t axes_mask);

/* True if an earlier communicator is over the same axes. */
bool comm_is_repeated(const Plan *plan, uint32_t comm);

#endif
