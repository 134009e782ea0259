/* meaning.h -- the model that a plan states in `regions`, `values` and `nodes`, as types ask for
 * it. Private to compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_MEANING_H
#define LOCKSTEP_PROVE_MEANING_H

#include <string.h>

#include "compiler/prove/types/type.h"
#include "compiler/prove/walk.h"

/* Where a part of a split or joined value stands in it: before rows, then its own elements of one
 * row, `index`-th of `count`. Sizes are of the whole. */
typedef struct Slice {
  uint32_t parent, index, count; /* parent: PLAN_NONE when the value is no part */
  uint32_t at;                   /* dim of the parent that is split */
  bool drops;                    /* the part lacks that dim */
} Slice;

/* What names and nodes say of a value. */
typedef struct ValueMeaning {
  Slice slice;
  uint32_t same; /* the value by whose name it goes: of parameters and inputs, the first of their
                    name, as evaluation has values of its own; of what goes from region to
                    region, the first such of its dims; else itself */
  uint32_t parameter; /* of a gradient; else PLAN_NONE */
  uint32_t uses;      /* how many nodes make it, or add to it */
} ValueMeaning;

/* A node among those that make, or add to, one value, in their order. Bits are 0 from
 * PARAMETER_USES_MAX of them on. */
typedef struct Making {
  uint64_t bit;   /* its own; 0 also of a node that does not make the value */
  uint64_t later; /* those behind it, of its region */
} Making;

typedef struct Meaning {
  const Plan *plan;
  ValueMeaning *value; /* by value */
  uint32_t *depth;     /* by region: layers and ends of the model before it */
  uint32_t *region_of; /* by node */
  Making *making;      /* by output of a node, as in plan->uses */
} Meaning;

/* False: a finding says why not. */
bool meaning_open(const View *view, Meaning *meaning);
void meaning_close(Meaning *meaning);

/* Sets kind, ref and layer of a value as a node of this region has it, in the call's layer. */
void meaning_name(const Meaning *meaning, uint32_t region, uint32_t value, Type *type);

/* The name of what is carried from one layer to the next, `depth` layers and ends of the model
 * having been there. PLAN_NONE: nothing is. */
uint32_t meaning_carried(const Meaning *meaning, ProgramKind program, uint32_t depth,
                         bool is_gradient);

Making making_of(const Meaning *meaning, uint32_t value, uint32_t node);
/* The bits of all that make it. */
uint64_t all_uses(const Meaning *meaning, uint32_t value);

/* Its dims. */
const PlanLayoutDim *meaning_dims(const Meaning *meaning, uint32_t value, uint32_t *count);

/* Of one dim, on one rank. */
int64_t meaning_size(const Meaning *meaning, uint32_t value, const Place *places, uint32_t dim);

/* Elements of a value on one rank that has these places. */
int64_t meaning_elements(const Meaning *meaning, uint32_t value, const Place *places);

static inline bool is_op(const Plan *plan, const PlanNode *node, const char *op) {
  return strcmp(plan_string(plan, node->op), op) == 0;
}

#endif
