/* rules.h -- one record, and what its numbers should be, at one place of the mesh. Private to
 * records/. */
#ifndef LOCKSTEP_PROVE_RULES_H
#define LOCKSTEP_PROVE_RULES_H

#include "compiler/prove/walk.h"

enum {
  DIM_BY_SIZE = -1, /* a dim that the sizes of operands leave no choice of: types know those */
  CASE_AXES_MAX = 32
};

typedef struct Case {
  const Plan *plan;
  const ValueRows *rows; /* by value */
  const PlanRecord *record;
  const PlanNode *node;           /* NULL: of none */
  const KernelContract *contract; /* NULL: no kernel */
  uint32_t coordinate[CASE_AXES_MAX];
  int64_t turn; /* whose keys and values these are: of the member so many places back */

  /* What the rule says, of the first of them. */
  uint32_t axes; /* of the mesh, on which it depends */
  int64_t dims[KERNEL_DIMS_MAX];
  uint32_t dims_count;
  double attrs[KERNEL_ATTRS_MAX];
  uint32_t attrs_count;
  uint64_t key;
  char wrong[160]; /* why the record is refused whatever its numbers; "" */
} Case;

/* By rules.def for what carries out a node, else by what the record is there for. */
void run_rule(Case *c);

/* Sizes and strides of a broadcast, neighbours that lie one behind the other merged. */
void broadcast_merge(int64_t *dims, uint32_t *count);

#endif
