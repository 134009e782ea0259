/* meaning.h -- the model that a plan states in `regions`, `values` and `nodes`, in the form that
 * types need. Private to compiler/plan/prove/types. */
#ifndef LOCKSTEP_PROVE_MEANING_H
#define LOCKSTEP_PROVE_MEANING_H

#include <string.h>

#include "compiler/plan/prove/types/type.h"
#include "compiler/plan/prove/walk.h"

/* Where a part lies in its split or joined value: rows, and in each row the `index`-th of `count`
 * equal parts. Sizes are those of the whole value. */
typedef struct Slice {
  uint32_t parent, index, count; /* parent: PLAN_NONE when the value is not a part */
  uint32_t at;                   /* dim of the parent that is split */
  bool drops;                    /* the part lacks that dim */
} Slice;

/* Facts about a value that follow from names and nodes. */
typedef struct ValueMeaning {
  Slice slice;
  uint32_t same; /* the value that it is identified with: for parameters and inputs the first of
                    their name, because evaluation has its own values; for what goes from region to
                    region the first such value with its dims; else itself */
  uint32_t parameter; /* of a gradient; else PLAN_NONE */
  uint32_t uses;      /* how many nodes make it or add to it */
} ValueMeaning;

/* A node among those that make or add to a value: each has a bit, in the order of the nodes.
 * There are no bits for more than PARAMETER_USES_MAX of them. */
typedef struct Making {
  uint64_t bit;   /* its own; 0: the node does not make the value */
  uint64_t later; /* of the nodes after it in its region */
} Making;

typedef struct Meaning {
  const Plan *plan;
  ValueMeaning *value; /* by value */
  uint32_t *depth;     /* by region: layers and ends of the model before it */
  uint32_t *region_of; /* by node */
  Making *making;      /* by output of a node, as in plan->uses */
} Meaning;

Meaning meaning_open(const View *view);

/* Sets kind, ref and layer of a value as seen by a node of this region, relative to the call's
 * layer. */
void meaning_name(const Meaning *meaning, uint32_t region, uint32_t value, Type *type);

/* The value carried from one layer to the next after `depth` layers and ends of the model, or
 * PLAN_NONE. */
uint32_t meaning_carried(const Meaning *meaning, ProgramKind program, uint32_t depth,
                         bool is_gradient);

Making making_of(const Meaning *meaning, uint32_t value, uint32_t node);
/* The bits of all nodes that make the value. */
uint64_t all_uses(const Meaning *meaning, uint32_t value);

/* Its dims. */
const PlanLayoutDim *meaning_dims(const Meaning *meaning, uint32_t value, uint32_t *count);

/* The product of the sizes of the dims [first, end) on one rank. */
int64_t meaning_sizes(const Meaning *meaning, uint32_t value, const Place *places, uint32_t first,
                      uint32_t end);

/* How many elements of a value a rank has, with these places. */
int64_t meaning_elements(const Meaning *meaning, uint32_t value, const Place *places);

static inline bool is_op(const Plan *plan, const PlanNode *node, const char *op) {
  return strcmp(plan_string(plan, node->op), op) == 0;
}

#endif
