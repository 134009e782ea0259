#include "compiler/prove/types/typing.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void refuse(Typing *t, const char *format, ...) {
  if (t->refused) return;
  t->refused = true;
  char why[PROVE_LINE_BYTES];
  va_list list;
  va_start(list, format);
  vsnprintf(why, sizeof why, format, list);
  va_end(list);
  prove_finding(t->view, t->walk.call != NULL ? &t->walk : NULL,
                t->at != NULL ? (int64_t)t->record : -1, "types", "%s", why);
}

void refuse_operand(Typing *t, uint32_t operand, const Type *found, const Type *wanted) {
  char holds[TYPE_TEXT_BYTES], wants[TYPE_TEXT_BYTES];
  const KernelContract *contract = record_contract(t);
  bool named = contract != NULL && (int32_t)operand < contract->operand_count;
  refuse(t, "operand %u%s%s holds %s; wanted: %s", operand, named ? " " : "",
         named ? contract->operands[operand].name : "", type_text(t->plan, found, holds),
         type_text(t->plan, wanted, wants));
}

Where where(Typing *t, uint32_t operand) {
  const PlanOperand *at = &t->plan->operands[t->at->operands_first + operand];
  uint64_t first = t->base_offset[at->base] + view_operand(t->view, at);
  return (Where){&t->reached[t->base_reached[at->base]], first, first + at->size_bytes, at};
}

const Type *read_type(Typing *t, uint32_t operand) {
  Where at = where(t, operand);
  return &t->types.type[spans_read(&t->types, &at.reached->spans, at.first, at.end)];
}

void write_type(Typing *t, uint32_t operand, const Type *type) {
  if (t->refused) return;
  Where at = where(t, operand);
  Span span = {at.first, at.end, type_of(&t->types, type), 0};
  if (!spans_write(&t->types, &at.reached->spans, span)) t->types.out_of_memory = true;
}

static uint32_t find_use(const Type *sum, uint32_t node) {
  uint32_t i = 0;
  while (i < sum->use_count && sum->use[i].node < node)
    i++;
  return i;
}

/* Joins the micro-batches of one use: they follow each other. */
static bool join_use(Type *sum, TypeUse use) {
  uint32_t i = find_use(sum, use.node);
  if (i < sum->use_count && sum->use[i].node == use.node) {
    if (sum->use[i].end != use.first) return false;
    sum->use[i].end = use.end;
    return true;
  }
  if (sum->use_count == TYPE_USES_MAX) return false;
  memmove(sum->use + i + 1, sum->use + i, (sum->use_count - i) * sizeof *sum->use);
  sum->use[i] = use;
  sum->use_count++;
  return true;
}

/* The same tensor, in the same parts; its uses may differ. */
static bool same_sum(const Type *a, const Type *b) {
  return a->kind == b->kind && a->ref == b->ref && a->layer == b->layer && a->dtype == b->dtype &&
         a->part == b->part && a->piece == b->piece &&
         memcmp(a->place, b->place, sizeof a->place) == 0;
}

void add_to_sum(Typing *t, uint32_t operand, Type *sum, uint32_t node) {
  bool is_first = (t->walk.call->flags & CALL_FIRST_MICROBATCH) != 0;
  sum->microbatch = TYPE_ANY;
  sum->use_count = 0;
  (void)join_use(sum, (TypeUse){node, 0, 1});
  if (t->at->accumulate) {
    const Type *found = read_type(t, operand);
    if (found->kind != TYPE_ZERO && !same_sum(found, sum)) {
      refuse_operand(t, operand, found, sum);
      return;
    }
    TypeUse use = sum->use[0];
    if (found->kind != TYPE_ZERO) *sum = *found;
    if (found->kind != TYPE_ZERO && !join_use(sum, use)) {
      Type wanted = {.kind = TYPE_SUM, .ref = sum->ref, .layer = sum->layer, .use_count = 1};
      wanted.use[0] = (TypeUse){node, USE_FROM_START, 0};
      refuse_operand(t, operand, found, &wanted);
      return;
    }
  }
  for (uint32_t i = 0; is_first && i < sum->use_count; i++)
    if (sum->use[i].node == node && sum->use[i].first == 0) sum->use[i].first = USE_FROM_START;
  write_type(t, operand, sum);
}

bool sum_is_complete(const Typing *t, const Type *sum) {
  int64_t call = t->walk.microbatch;
  bool is_complete = sum->use_count == t->meaning.uses[sum->ref];
  for (uint32_t i = 0; i < sum->use_count; i++)
    is_complete = is_complete && sum->use[i].first == USE_FROM_START &&
                  sum->use[i].end + call == t->microbatches;
  return is_complete;
}
