/* records.c -- which rule a record is under. */
#include "compiler/prove/types/programs.h"
#include "runtime/plan/plan_text.h"

/* Inputs of the micro-batch, one operand each. */
static void type_load(Typing *t) {
  if (t->at->kind != RECORD_LOAD || t->at->operands_count != t->plan->inputs_count) {
    refuse(t, "it does not load each input once");
    return;
  }
  uint32_t input = 0;
  for (uint32_t v = 0; v < t->plan->values_count && input < t->plan->inputs_count; v++) {
    const PlanValue *value = &t->plan->values[v];
    if (value->kind != VALUE_INPUT || t->meaning.value[v].same != v) continue;
    Type type = {.kind = TYPE_VALUE,
                 .dtype = (uint8_t)value->dtype,
                 .ref = v,
                 .layer = TYPE_ANY,
                 .microbatch = 0};
    cut_samples(t, &type);
    write_type(t, input++, &type);
  }
}

/* Either what carries out a node, or what converts its values. */
static void type_again(Typing *t) {
  const KernelContract *contract = record_contract(t);
  if (contract == NULL || contract->row->role == ROLE_SLICE)
    type_move(t);
  else
    type_node(t);
}

/* What a kernel leaves in its scratch is nothing to read. */
static void spoil_scratch(Typing *t) {
  const KernelContract *contract = record_contract(t);
  for (uint32_t i = 0; i < t->at->operands_count && contract != NULL; i++)
    if (contract->operands[i].access == KERNEL_SCRATCH) write_type(t, i, &(Type){0});
}

/* By purpose; NULL: no rule says what such a record does. */
static void (*const rules[Purpose_COUNT])(Typing *t) = {
    [PURPOSE_NODE] = type_node,       [PURPOSE_PART] = type_node,
    [PURPOSE_RECOMPUTE] = type_again, [PURPOSE_TRANSFER] = type_transfer,
    [PURPOSE_CONVERSION] = type_move, [PURPOSE_INIT] = type_init,
    [PURPOSE_CLEAR] = type_clear,     [PURPOSE_NORM] = type_norm,
    [PURPOSE_GATHER] = type_move,     [PURPOSE_REDUCE] = type_move,
    [PURPOSE_CONTROL] = type_control, [PURPOSE_UPDATE] = type_update,
    [PURPOSE_LOAD] = type_load,
};

void type_record(Typing *t) {
  if (!check_targets(t)) return;
  if (rules[t->at->purpose] == NULL)
    refuse(t, "no rule says what a record for %s does", Purpose_names[t->at->purpose]);
  else
    rules[t->at->purpose](t);
  spoil_scratch(t);
}
