/* targets.c -- where a record writes. */
#include "compiler/prove/types/typing.h"

static int64_t factor(const Typing *t, const uint8_t *dims, uint32_t count) {
  int64_t product = 1;
  for (uint32_t i = 0; i < count; i++)
    product *= record_dims(t)[dims[i]];
  return product;
}

/* How the kernel walks over its operand. False: it takes it as it lies. */
bool view_of(const Typing *t, uint32_t operand, View2D *view) {
  const KernelContract *contract = record_contract(t);
  if (contract == NULL || (int32_t)operand >= contract->operand_count) return false;
  const KernelShape *shape = &contract->operands[operand].shape;
  if (shape->kind != SHAPE_VIEW) return false;
  *view = (View2D){factor(t, shape->rows, shape->rows_count),
                   factor(t, shape->inner, shape->inner_count), record_dims(t)[shape->stride]};
  return true;
}

/* Rows of one stride, whose places in it do not meet. */
static bool is_between(const Typing *t, uint32_t a, uint32_t b, const Where *at, const Where *to) {
  View2D x, y;
  if (!view_of(t, a, &x) || !view_of(t, b, &y) || x.stride != y.stride) return false;
  if (at->operand->dtype != to->operand->dtype || x.stride <= 0) return false;
  int64_t bytes = dtype_bytes((DType)at->operand->dtype), stride = x.stride * bytes;
  int64_t behind = ((int64_t)(to->first - at->first) % stride + stride) % stride;
  return behind >= x.inner * bytes && behind + y.inner * bytes <= stride;
}

/* The kernel says which operands' memory a result may have. */
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
  for (uint32_t i = 0; i < t->at->operands_count; i++) {
    Where to = where(t, i);
    if (i == target || at.reached != to.reached || at.first >= to.end || to.first >= at.end ||
        at.first == at.end || to.first == to.end || may_share(t, target, i, &at, &to) ||
        is_between(t, target, i, &at, &to))
      continue;
    refuse(t, "writes operand %u where operand %u stands", target, i);
  }
  return !t->refused;
}

/* A loss and its weight, or sums over ranks. */
static bool counts(const Typing *t, uint32_t target) {
  const KernelContract *contract = record_contract(t);
  return t->at->purpose == PURPOSE_CONTROL ||
         (contract != NULL && contract->row->role == ROLE_LOSS &&
          (int32_t)target == contract_operand(contract, "loss"));
}

static bool is_ours(Typing *t, uint32_t target) {
  const PlanBuffer *buffer = where(t, target).reached->buffer;
  if (!is_of_runtime(buffer) || (buffer->kind == BUFFER_CONTROL && counts(t, target))) return true;
  return refuse(t, "writes operand %u where the runtime does: %.40s", target,
                plan_string(t->plan, buffer->name));
}

bool check_targets(Typing *t) {
  for (uint32_t i = 0; i < t->at->operands_count; i++)
    if (operand_at(t, i)->access != ACCESS_READ && (!is_ours(t, i) || !stands_apart(t, i)))
      return false;
  return !t->refused;
}
