/* forms.h -- rows of rules.def, read for a node, and where its values are cut. Private to
 * compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_FORMS_H
#define LOCKSTEP_PROVE_FORMS_H

#include "compiler/prove/types/typing.h"

enum { FORM_SLOTS_MAX = 12, FORM_DIMS_MAX = 8 };

/* One operand of a kernel. */
typedef struct FormSlot {
  uint32_t in, out;    /* values that are read, made; PLAN_NONE: none */
  const char *letters; /* of the row */
  uint32_t letter_count;
  uint8_t part; /* TypePart: what of the value */
  uint8_t dim_count;
  bool is_rows;                  /* its dims are those of rows */
  bool turns;                    /* its letters stand the other way round */
  bool passes;                   /* summands of it may pass through */
  uint16_t label[FORM_DIMS_MAX]; /* by dim, a letter and which of its dims; equal: the same dim */
} FormSlot;

typedef struct Form {
  const struct FormRow *row; /* of rules.def */
  const char *rules;
  bool transposed; /* a product with a weight that stands the other way round */
  bool fits;       /* the node has the values that the row asks for */
  bool makes_part; /* of the node only: others do the rest */
  uint32_t slot_count, inputs, outputs;
  FormSlot slot[FORM_SLOTS_MAX];
} Form;

/* What the record's kernel makes of this node. NULL: there is no row for the kernel, or the node's
 * values do not have its dims. Kept by node in t->forms, which the caller frees. */
const Form *form_of(Typing *t, const PlanNode *node);

/* Whether there is such a rule; whether it names this label. */
bool form_has(const Form *form, const char *rule);
bool form_says(const Form *form, const char *rule, uint32_t label);

/* The first label that it names; 0: there is no such rule. */
uint32_t form_label(const Form *form, const char *rule);

/* The label by which all dims go that are cut together; `goes_round`: along an axis of a ring. */
uint32_t form_joint(const Form *form, uint32_t label, bool goes_round);

/* ---- a record of a node: nodes.c */

typedef struct NodeCall {
  const PlanNode *node;
  uint32_t region;
  const Form *form;
  Type in[FORM_SLOTS_MAX]; /* by operand that is read */
  int32_t microbatch;      /* TYPE_ANY: nothing that it reads is of a sample */
} NodeCall;

/* ---- ring.c: queries of a rank meet the keys of one after another */

/* Checks that keys are of one block, and taken to stand where it does; `turn`: whose it is. False:
 * refused. */
bool ring_meets(Typing *t, const NodeCall *c, uint32_t axis, uint16_t *turn);
/* Of what ranks' blocks a result is made. */
Ring ring_of_result(const Form *form, const FormSlot *slot, uint16_t turn);

/* Whether the record joins what attention makes of several blocks, or casts it. */
bool is_ring_sum(const Typing *t, const PlanNode *node);
void type_ring_sum(Typing *t, const NodeCall *c);

#endif
