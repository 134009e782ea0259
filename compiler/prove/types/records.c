/* records.c -- which rule a record is under. */
#include "compiler/prove/types/programs.h"
#include "runtime/plan/plan_text.h"

/* Inputs of the micro-batch, one operand each. */
static void type_load(Typing *t) {
  if (t->at->operands_count != t->plan->inputs_count) {
    refuse(t, "it does not load each input once");
    return;
  }
  uint32_t input = 0;
  for (uint32_t v = 0; v < t->plan->values_count && input < t->plan->inputs_count; v++) {
    const PlanValue *value = &t->plan->values[v];
    if (value->kind != VALUE_INPUT || t->meaning.same[v] != v) continue;
    Type type = {.kind = TYPE_VALUE,
                 .dtype = (uint8_t)value->dtype,
                 .ref = v,
                 .layer = TYPE_ANY,
                 .microbatch = 0};
    for (uint32_t axis = 0; axis < t->plan->axes_count && axis < TYPE_AXES_MAX; axis++)
      if (t->plan->axes[axis].divides == DIVIDES_SAMPLES && t->plan->axes[axis].size > 1)
        type.place[axis] = (Place){.kind = PLACE_CUT, .dim = 0};
    write_type(t, input++, &type);
  }
}

/* Either what carries out a node, or what converts its values. */
static void type_again(Typing *t) {
  const KernelContract *contract = record_contract(t);
  if (contract == NULL || contract->row->role == ROLE_SLICE)
    type_conversion(t);
  else
    type_node(t);
}

/* What a kernel leaves in its scratch is nothing to read. */
static void spoil_scratch(Typing *t) {
  const KernelContract *contract = record_contract(t);
  for (uint32_t i = 0; i < t->at->operands_count && contract != NULL; i++)
    if (contract->operands[i].access == KERNEL_SCRATCH) write_type(t, i, &(Type){0});
}

static void type_by_purpose(Typing *t) {
  if (t->at->kind == RECORD_LOAD && t->at->purpose == PURPOSE_LOAD) {
    type_load(t);
    return;
  }
  switch ((Purpose)t->at->purpose) {
  case PURPOSE_NODE:
  case PURPOSE_PART: type_node(t); return;
  case PURPOSE_RECOMPUTE: type_again(t); return;
  case PURPOSE_TRANSFER: type_transfer(t); return;
  case PURPOSE_CONVERSION: type_conversion(t); return;
  case PURPOSE_INIT: type_init(t); return;
  case PURPOSE_CLEAR: type_clear(t); return;
  case PURPOSE_NORM: type_norm(t); return;
  case PURPOSE_GATHER: type_gather(t); return;
  case PURPOSE_REDUCE: type_reduce(t); return;
  case PURPOSE_CONTROL: type_control(t); return;
  case PURPOSE_UPDATE: type_update(t); return;
  default: refuse(t, "no rule says what a record for %s does", Purpose_names[t->at->purpose]);
  }
}

void type_record(Typing *t) {
  if (!check_targets(t)) return;
  type_by_purpose(t);
  spoil_scratch(t);
}
