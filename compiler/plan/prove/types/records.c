/* records.c -- where a record may write, and which rule applies to it. */
#include "compiler/plan/prove/types/typing.h"
#include "runtime/plan/plan_text.h"

/* ---- where it writes */

/* True if both have rows of one stride that do not overlap. */
static bool is_between(const Typing *t, uint32_t a, uint32_t b, const Where *at, const Where *to) {
  KernelView x, y;
  if (!view_of(t, a, &x) || !view_of(t, b, &y) || x.stride != y.stride) return false;
  if (at->operand->dtype != to->operand->dtype || x.stride <= 0) return false;
  int64_t bytes = dtype_bytes((DType)at->operand->dtype), stride = x.stride * bytes;
  int64_t after = ((int64_t)(to->first - at->first) % stride + stride) % stride;
  return after >= x.inner * bytes && after + y.inner * bytes <= stride;
}

/* The kernel's contract says which operands a result may overlap. */
static bool may_share(const Typing *t, uint32_t target, uint32_t other, const Where *at,
                      const Where *to) {
  const KernelContract *contract = record_contract(t);
  if (contract == NULL || (int32_t)target >= contract->operand_count) return false;
  bool says = (contract->operands[target].over >> other & 1u) != 0 ||
              (contract->operands[other].over >> target & 1u) != 0;
  return says && at->first == to->first && at->end == to->end;
}

static bool stands_apart(Typing *t, uint32_t target) {
  Where at = where(t, target);
  for (uint32_t i = 0; i < t->call.at->operands_count; i++) {
    Where to = where(t, i);
    if (i == target || at.reached != to.reached || at.first >= to.end || to.first >= at.end ||
        at.first == at.end || to.first == to.end || may_share(t, target, i, &at, &to) ||
        is_between(t, target, i, &at, &to))
      continue;
    REFUSE(t, "writes operand %u over operand %u", target, i);
  }
  return !t->class.refused;
}

/* The number of the loss that the record's node makes, in training or in an evaluation: the node
 * of training has the same path. -1: it makes none. */
static int32_t loss_number(const Typing *t) {
  const Plan *plan = t->plan;
  const uint32_t node = t->call.at->node;
  if (t->proof.losses_made.count == 1) return 0;
  for (int32_t i = 0; node != PLAN_NONE && i < t->proof.losses_made.count; i++) {
    const uint32_t other = t->proof.losses_made.at[i].node;
    if (other == PLAN_NONE || plan->nodes[other].path == plan->nodes[node].path) return i;
  }
  return -1;
}

/* A loss and its weight, or what is drawn in its place; or sums over ranks. */
static bool counts(Typing *t, uint32_t target) {
  const KernelContract *contract = record_contract(t);
  const Where at = where(t, target);
  const int32_t number = loss_number(t);
  return t->call.at->purpose == PURPOSE_CONTROL ||
         (contract != NULL && contract->row->role == ROLE_LOSS &&
          ((int32_t)target == contract_operand(contract, "loss") ||
           (int32_t)target == contract_operand(contract, "drawn")) &&
          number >= 0 && at.reached->start + at.first == loss_address(t, number));
}

static bool is_ours(Typing *t, uint32_t target) {
  const PlanBuffer *buffer = where(t, target).reached->buffer;
  if (!is_of_runtime(buffer) || (buffer->kind == BUFFER_CONTROL && counts(t, target)) ||
      (buffer->kind == BUFFER_MIRROR && plan_is_copy(t->call.at)))
    return true;
  return REFUSE(t, "writes operand %u where the runtime does: %.40s", target,
                plan_string(t->plan, buffer->name));
}

/* Checks that a record may write its results where they are: no other operand of it lies there, and
 * the runtime does not write there. Refused otherwise. */
static bool check_targets(Typing *t) {
  for (uint32_t i = 0; i < t->call.at->operands_count; i++)
    if (operand_at(t, i)->access != ACCESS_READ && (!is_ours(t, i) || !stands_apart(t, i)))
      return false;
  return !t->class.refused;
}

/* ---- which rule applies */

/* The input of this name that has as many elements as the operand: a decode loads one token of each
 * sample. */
static uint32_t loaded(const Typing *t, uint32_t first, uint32_t operand, const Place *places) {
  const Plan *plan = t->plan;
  const PlanOperand *at = operand_at(t, operand);
  for (uint32_t v = first; v < plan->values_count; v++)
    if (plan->values[v].kind == VALUE_INPUT && value_named(t->view, v, VALUE_INPUT) == first &&
        t->proof.meaning.value[v].same == v &&
        meaning_elements(&t->proof.meaning, v, places) * dtype_bytes((DType)at->dtype) ==
            (int64_t)at->size_bytes)
      return v;
  return first;
}

/* Inputs of the micro-batch, one operand each. */
static void type_load(Typing *t) {
  if (t->call.at->kind != RECORD_LOAD || t->call.at->operands_count != t->plan->inputs_count) {
    REFUSE(t, "it does not load each input once");
    return;
  }
  uint32_t input = 0;
  for (uint32_t v = 0; v < t->plan->values_count && input < t->plan->inputs_count; v++) {
    const PlanValue *value = &t->plan->values[v];
    if (value->kind != VALUE_INPUT || value_named(t->view, v, VALUE_INPUT) != v) continue;
    Type type = {.kind = TYPE_VALUE,
                 .dtype = (uint8_t)value->dtype,
                 .ref = v,
                 .layer = TYPE_ANY,
                 .microbatch = 0};
    cut_samples(t, &type);
    type.ref = loaded(t, v, input, type.place);
    write_type(t, input++, &type);
  }
}

/* A record that carries out a node, or one that converts values. */
static void type_again(Typing *t) {
  const KernelContract *contract = record_contract(t);
  if (contract == NULL || contract->row->role == ROLE_SLICE)
    type_move(t);
  else if (contract->row->role == ROLE_QUANTISE)
    type_quantise(t);
  else
    type_node(t);
}

/* After a record its scratch, and the bytes that pieces are gathered into, may not be read. */
static void spoil_scratch(Typing *t) {
  const KernelContract *contract = record_contract(t);
  for (uint32_t i = 0; i < t->call.at->operands_count; i++)
    if (operand_at(t, i)->access == ACCESS_SCRATCH ||
        (contract != NULL && contract->operands[i].access == KERNEL_SCRATCH))
      write_type(t, i, &(Type){0});
}

/* The rule for a purpose; NULL: there is none. */
static void (*const rules[Purpose_COUNT])(Typing *t) = {
    [PURPOSE_NODE] = type_node,       [PURPOSE_PART] = type_node,
    [PURPOSE_RECOMPUTE] = type_again, [PURPOSE_TRANSFER] = type_transfer,
    [PURPOSE_CONVERSION] = type_move, [PURPOSE_INIT] = type_init,
    [PURPOSE_CLEAR] = type_clear,     [PURPOSE_NORM] = type_grad_norm,
    [PURPOSE_GATHER] = type_move,     [PURPOSE_REDUCE] = type_move,
    [PURPOSE_CONTROL] = type_control, [PURPOSE_UPDATE] = type_update,
    [PURPOSE_LOAD] = type_load,       [PURPOSE_CAST] = type_cast,
    [PURPOSE_OFFLOAD] = type_copy,
};

void type_record(Typing *t) {
  if (!check_targets(t)) return;
  if (rules[t->call.at->purpose] == NULL)
    REFUSE(t, "no rule says what a record for %s does", Purpose_names[t->call.at->purpose]);
  else
    rules[t->call.at->purpose](t);
  check_slots(t);
  spoil_scratch(t);
}
