/* forms.h -- rows of rules.def applied to a node, and where its values are cut. Private to
 * compiler/plan/prove/types. */
#ifndef LOCKSTEP_PROVE_FORMS_H
#define LOCKSTEP_PROVE_FORMS_H

#include "compiler/plan/prove/types/typing.h"

enum { FORM_SLOTS_MAX = 12, FORM_DIMS_MAX = 8 };

/* One operand of a kernel. */
typedef struct FormSlot {
  uint32_t in, out;    /* the values it reads and makes, or PLAN_NONE */
  const char *letters; /* of the row */
  uint32_t letter_count;
  uint8_t part;  /* TypePart of the value */
  uint8_t codes; /* PART_CODES, PART_SCALES: DType of the codes, */
  uint8_t of;    /* and CodesOf */
  uint8_t dim_count;
  bool is_rows;                  /* it has one row of numbers for each of its dims */
  bool turns;                    /* its dims are in reverse order */
  bool passes;                   /* it may be partial sums */
  uint16_t label[FORM_DIMS_MAX]; /* by dim: its letter and which of that letter's dims; equal labels
                                    are the same dim */
} FormSlot;

typedef struct Form {
  const struct FormRow *row; /* of rules.def */
  const char *rules;
  bool transposed;    /* a product with a transposed weight */
  bool fits;          /* the node has the values that the row needs */
  bool makes_part;    /* it makes only a part of the node: other records do the rest */
  const char *unlike; /* dims of one letter that are not the same; NULL: none */
  uint32_t slot_count, inputs, outputs;
  FormSlot slot[FORM_SLOTS_MAX];
} Form;

/* The form of the record's kernel for this node. NULL: the kernel has no row, or the node's values
 * do not have as many dims. Cached by node in t->proof.forms. */
const Form *form_of(Typing *t, const PlanNode *node);

/* True if the row has such a rule; true if that rule names this label. */
bool form_has(const Form *form, const char *rule);
bool form_says(const Form *form, const char *rule, uint32_t label);

/* The first label that the rule names; 0: the row has no such rule. */
uint32_t form_label(const Form *form, const char *rule);

/* The common label of all dims that are cut together; `goes_round`: along the axis of a ring. */
uint32_t form_joint(const Form *form, uint32_t label, bool goes_round);

/* ---- a record of a node: nodes.c */

typedef struct NodeCall {
  const PlanNode *node;
  uint32_t region;
  const Form *form;
  Type in[FORM_SLOTS_MAX]; /* by operand; those that are read */
  int32_t microbatch;      /* TYPE_ANY: nothing that it reads depends on samples */
} NodeCall;

/* ---- ring.c: queries of a rank meet the keys of one after another */

/* Checks that all keys are of one block and that the record takes them to be at its positions;
 * `turn`: whose block it is. False: refused. */
bool ring_meets(Typing *t, const NodeCall *c, uint32_t axis, uint16_t *turn);
/* Sets from which ranks' blocks a result is made. */
Ring ring_of_result(const Form *form, const FormSlot *slot, uint16_t turn);

/* True if the record merges attention results of several blocks, or casts one. */
bool is_ring_sum(const Typing *t, const PlanNode *node);
void type_ring_sum(Typing *t, const NodeCall *c);

#endif
