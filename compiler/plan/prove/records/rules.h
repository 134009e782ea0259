/* rules.h -- one record, and what its numbers should be at one coordinate of the mesh. Private to
 * records/. */
#ifndef LOCKSTEP_PROVE_RULES_H
#define LOCKSTEP_PROVE_RULES_H

#include "compiler/plan/prove/walk.h"

enum {
  DIM_BY_SIZE = -1, /* a dim that follows from the sizes of operands, which types check */
  CASE_AXES_MAX = 32
};

typedef struct Case {
  const Plan *plan;
  const ValueRows *rows; /* by value */
  const PlanRecord *record;
  const PlanNode *node;           /* NULL: of none */
  const KernelContract *contract; /* NULL: no kernel */
  uint32_t coordinate[CASE_AXES_MAX];
  int64_t turn; /* the keys and values are those of the member this many places back */

  /* The rule's numbers for the first of them. */
  uint32_t axes; /* of the mesh, on which the record depends */
  int64_t dims[KERNEL_DIMS_MAX];
  uint32_t dims_count;
  double attrs[KERNEL_ATTRS_MAX];
  uint32_t attrs_count;
  uint64_t key;
  char wrong[160]; /* why the record is refused before its numbers are looked at; or "" */
} Case;

/* By rules.def for a record that carries out a node, else by the record's purpose. */
void run_rule(Case *c);

/* Checks the job's own tables: job.c. */
void prove_job(const View *view);
/* Checks the model that the plan states: model.c. */
void prove_model(const View *view);
bool computes_tf32(const Plan *plan); /* its products round their inputs */

/* Every program has only records that purposes.def allows it: programs.c. */
void prove_programs(const View *whole);

/* Sizes and strides of a broadcast, with contiguous neighbours merged. */
void broadcast_merge(int64_t *dims, uint32_t *count);

#endif
