/* forms.h -- rows of forms.def, read. Private to compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_FORMS_H
#define LOCKSTEP_PROVE_FORMS_H

#include "compiler/prove/types/typing.h"

enum { FORM_SLOTS_MAX = 12, FORM_DIMS_MAX = 8, FORM_NONE = 255 };

/* One operand of a kernel. */
typedef struct FormSlot {
  uint8_t input, output; /* number among the node's; FORM_NONE: it is none */
  bool is_rows;          /* its dims are those of rows */
  uint8_t dim_count;
  uint8_t label[FORM_DIMS_MAX]; /* by dim: equal ones are the same dim */
} FormSlot;

typedef struct Form {
  uint32_t slot_count;
  FormSlot slot[FORM_SLOTS_MAX];
  uint64_t sums, whole, free; /* bits of labels */
  uint64_t heads, groups;     /* bits of one label each, or 0 */
  uint64_t queries, keys;     /* the same */
  bool is_linear, may_lack_bias;
  uint8_t of; /* input that it is linear in; FORM_NONE: none */
} Form;

typedef struct NodeCall {
  const PlanNode *node;
  uint32_t region;
  Form form;
  Type in[FORM_SLOTS_MAX]; /* by operand */
  int32_t microbatch;      /* TYPE_ANY: nothing that it reads is of a sample */
} NodeCall;

static inline uint32_t input_of(const Typing *t, const PlanNode *node, uint32_t index) {
  return t->plan->uses[node->inputs_first + index].value;
}

static inline uint32_t output_of(const Typing *t, const PlanNode *node, uint32_t index) {
  return t->plan->uses[node->outputs_first + index].value;
}

/* What stands in the operand goes into c->in. False: it is not this value; refused. */
bool read_value(Typing *t, NodeCall *c, uint32_t operand, uint32_t value);

/* ---- losses.c */

bool is_shared_loss(const Typing *t);
void type_shared_loss(Typing *t, NodeCall *c);

/* The first label of the mask. */
static inline uint8_t label_of(uint64_t bits) {
  uint8_t label = 0;
  while (label < 63 && (bits >> label & 1) == 0)
    label++;
  return label;
}

static inline bool has_label(const FormSlot *slot, uint8_t label, uint8_t *dim) {
  for (*dim = 0; *dim < slot->dim_count; ++*dim)
    if (slot->label[*dim] == label) return true;
  return false;
}

/* ---- ring.c: queries of a rank meet the keys of one after another */

/* Whether a query or a key is cut along the axis, which divides tokens. */
bool is_ring(const Typing *t, const NodeCall *c, uint32_t axis);

/* Places and ring of the results, `out` by operand. False: refused. */
bool ring_places(Typing *t, const NodeCall *c, uint32_t axis, Type *out);

/* Whether the record joins what attention makes of several blocks, or casts it. */
bool is_ring_sum(const Typing *t, const PlanNode *node);
void type_ring_sum(Typing *t, const NodeCall *c);

/* Forms are kept by node: t->forms, which the caller frees. Without, each is read anew. */
bool forms_open(Typing *t);

/* What the record's kernel makes of this node. False: there is no row for the kernel, or the node's
 * values do not have its dims. */
bool form_of(const Typing *t, const PlanNode *node, Form *form);

#endif
