/* case.h -- one record, and what its numbers should be, at one place of the mesh. Private to
 * records/. */
#ifndef LOCKSTEP_PROVE_CASE_H
#define LOCKSTEP_PROVE_CASE_H

#include "compiler/prove/walk.h"
#include "kernels/contract/contract.h"

typedef struct Case {
  const Plan *plan;
  const PlanRecord *record;
  const PlanNode *node;           /* NULL: of none */
  const KernelContract *contract; /* NULL: no kernel */
  uint32_t coordinate[PROVE_AXES_MAX];
  int64_t turn; /* whose keys and values these are: of the member so many places back */

  /* What the rule says. */
  uint32_t axes; /* of the mesh, on which it depends */
  int64_t dims[KERNEL_DIMS_MAX];
  uint32_t dims_count;
  double attrs[KERNEL_ATTRS_MAX];
  uint32_t attrs_count;
  uint64_t key;
  bool any_dims;   /* what moves where is judged with what it meets */
  char wrong[160]; /* why the record is refused whatever its numbers; "" */
} Case;

/* Refuses; the first reason stands. */
void case_wrong(Case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

void case_dim(Case *c, int64_t dim);
void case_attr(Case *c, double attr);

static inline const char *case_text(const Case *c, uint32_t string) {
  return plan_string(c->plan, string);
}

static inline const PlanOperand *case_operand(const Case *c, uint32_t operand) {
  return &c->plan->operands[c->record->operands_first + operand];
}

/* ---- a rank's part of what stands in an operand, as the plan says that it is cut */

typedef struct Part {
  const PlanLayout *layout;
  const PlanLayoutDim *dim;
  uint32_t count;
} Part;

/* Refuses, and gives a part without dims, when the plan does not say. */
Part case_part(Case *c, uint32_t operand);
Part case_value_part(const Case *c, uint32_t value); /* all of it */

int64_t dim_local(const Case *c, const PlanLayoutDim *dim);
bool dim_is_token(const Case *c, const PlanLayoutDim *dim); /* batch, seq */
bool dim_is(const Case *c, const PlanLayoutDim *dim, const char *name);
bool dims_are_cut_alike(const Case *c, const PlanLayoutDim *a, const PlanLayoutDim *b);

int64_t part_elements(const Case *c, const Part *part);
int64_t part_tokens(const Case *c, const Part *part);
int64_t part_features(const Case *c, const Part *part);
/* Elements in the dims [first, end). */
int64_t part_product(const Case *c, const Part *part, uint32_t first, uint32_t end);
const PlanLayoutDim *part_seq(Case *c, const Part *part); /* refuses: it has none */
/* The n-th that is not of tokens; refuses when there are not `of` of them. */
const PlanLayoutDim *part_feature(Case *c, const Part *part, uint32_t n, uint32_t of);

/* Where the rank's part begins in the whole, by the first `cuts` of its cuts, from the `from`-th
 * on. */
int64_t dim_first(Case *c, const PlanLayoutDim *dim, uint32_t from, uint32_t cuts);

/* Where two runs of the tokens of the rank stand; kernels.def. By the member `back` places before
 * this one along the axis that cuts them. */
typedef struct Runs {
  int64_t first, second;
} Runs;
Runs dim_runs(Case *c, const PlanLayoutDim *dim, uint32_t cuts, int64_t back);

uint32_t axis_size(const Case *c, uint32_t axis);

/* Elements from token to token: of a dense value, or of what it stands in. Refuses another. */
int64_t case_stride(Case *c, uint32_t operand, uint32_t dim);

static inline uint32_t node_input(const Case *c, uint32_t i) {
  return c->plan->uses[c->node->inputs_first + i].value;
}
static inline uint32_t node_output(const Case *c, uint32_t i) {
  return c->plan->uses[c->node->outputs_first + i].value;
}
static inline double case_node_attr(const Case *c, uint32_t i) {
  return i < c->node->attrs_count ? c->plan->reals[c->node->attrs_first + i] : 0;
}

/* ---- rules: each fills dims, attrs and key, or refuses */

/* rows.c: kernels that carry out nodes. False: no row allows it. */
bool rule_of_node(Case *c);
/* conversions.c: the same value in another layout. */
void rule_of_conversion(Case *c);
/* roles.c: what is no node's. */
void rule_of_role(Case *c);

/* Sizes and strides of a broadcast, neighbours that lie one behind the other merged. */
void broadcast_merge(int64_t *dims, uint32_t *count);

#endif
