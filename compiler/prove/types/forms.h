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
  bool is_linear, may_lack_bias;
  uint8_t of; /* input that it is linear in; FORM_NONE: none */
} Form;

/* What the record's kernel makes of this node. False: there is no row for the kernel, or the node's
 * values do not have its dims. */
bool form_of(const Typing *t, const PlanNode *node, Form *form);

#endif
