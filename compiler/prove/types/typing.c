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

uint32_t axes_of_comm(const Typing *t, uint32_t comm) {
  uint32_t axes = 0;
  for (uint32_t axis = 0; axis < t->plan->axes_count && axis < TYPE_AXES_MAX; axis++)
    if ((t->plan->comms[comm].axes_mask >> axis & 1) != 0 && t->plan->axes[axis].size > 1)
      axes |= 1u << axis;
  return axes;
}

double vary_of(const Typing *t, const PlanVary *vary, int64_t member) {
  double value = (double)member * vary->stride;
  return vary->values_count == 0 ? value : value + t->plan->reals[vary->values_first + member];
}

double attr_of(const Typing *t, uint32_t attr, int64_t member) {
  double value = record_attrs(t)[attr];
  for (uint32_t i = 0; i < t->at->varies_count; i++) {
    const PlanVary *vary = &t->plan->varies[t->at->varies_first + i];
    if (vary->attr == attr) value += vary_of(t, vary, member);
  }
  return value;
}

int64_t coordinate_of(const Typing *t, uint32_t comm, int64_t member, uint32_t axis) {
  for (uint32_t i = t->plan->axes_count; i-- > axis + 1;)
    if ((t->plan->comms[comm].axes_mask >> i & 1) != 0) member /= t->plan->axes[i].size;
  return member % t->plan->axes[axis].size;
}

Where where(Typing *t, uint32_t operand) {
  const PlanOperand *at = &t->plan->operands[t->at->operands_first + operand];
  Where place = {.reached = &t->reached[t->base_reached[at->base]], .operand = at};
  place.first = t->base_offset[at->base] + at->offset;
  place.end = place.first + at->size_bytes;
  if (at->by == PLAN_NONE) return place;
  place.own_axes = axes_of_comm(t, at->by);
  place.end = place.first + at->size_bytes * plan_comm_size(t->plan, at->by);
  if (at->member_stride != (int64_t)at->size_bytes)
    refuse(t, "operand %u is no piece of a row: pieces are %llu bytes, %lld apart", operand,
           (unsigned long long)at->size_bytes, (long long)at->member_stride);
  return place;
}

static uint64_t real_bytes(const Typing *t, const Type *type) {
  return (uint64_t)(meaning_elements(&t->meaning, type->ref, type->place) *
                    dtype_bytes((DType)type->dtype));
}

static bool is_zero(const Typing *t, const Spans *spans, uint64_t first, uint64_t end) {
  return first == end || t->types.type[spans_read(&t->types, spans, first, end)].kind == TYPE_ZERO;
}

Type read_row(Typing *t, const Spans *spans, uint64_t first, uint64_t end) {
  uint32_t at = spans_find(spans, first);
  if (at == spans->count || spans->at[at].first != first || spans->at[at].end > end)
    return (Type){0};
  const Span *span = &spans->at[at];
  Type type = t->types.type[span->type];
  if (span->end == end) return type;
  bool fits = (type.kind == TYPE_STATE || type.kind == TYPE_SUM) &&
              span->end - first == real_bytes(t, &type) && is_zero(t, spans, span->end, end);
  return fits ? type : (Type){0};
}

void write_row(Typing *t, Spans *spans, uint64_t first, uint64_t end, const Type *type) {
  if (t->refused) return;
  Type zero = {.kind = TYPE_ZERO, .dtype = type->dtype, .layer = TYPE_ANY, .microbatch = TYPE_ANY};
  uint64_t middle = first + real_bytes(t, type);
  if (middle > end) {
    refuse(t, "the row is shorter than what it holds");
    return;
  }
  Span rest = {middle, end, type_of(&t->types, &zero), 0};
  Span span = {first, middle, type_of(&t->types, type), 0};
  if ((middle < end && !spans_write(&t->types, spans, rest)) ||
      !spans_write(&t->types, spans, span))
    t->types.out_of_memory = true;
}

/* A rank's own piece is the same of a whole row and of one whose other pieces are old. */
static Type own_piece(Typing *t, const Where *at) {
  Type type = read_row(t, &at->reached->spans, at->first, at->end);
  if (type.kind <= TYPE_ZERO) return type;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++) {
    if ((at->own_axes >> axis & 1) == 0) continue;
    if (type.place[axis].kind != PLACE_WHOLE && type.place[axis].kind != PLACE_ROW)
      return (Type){0};
    type.place[axis] = (Place){.kind = PLACE_FLAT};
  }
  type.piece = (int64_t)at->operand->size_bytes / dtype_bytes((DType)type.dtype);
  return type;
}

Type read_type(Typing *t, uint32_t operand) {
  Where at = where(t, operand);
  if (at.own_axes != 0) return own_piece(t, &at);
  return t->types.type[spans_read(&t->types, &at.reached->spans, at.first, at.end)];
}

void write_type(Typing *t, uint32_t operand, const Type *type) {
  Where at = where(t, operand);
  Type written = *type;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++) {
    if ((at.own_axes >> axis & 1) == 0) continue;
    if (written.place[axis].kind != PLACE_FLAT && written.kind != TYPE_ZERO)
      refuse(t, "operand %u is one piece, and gets the whole", operand);
    written.place[axis].kind = PLACE_ROW;
  }
  if (at.own_axes != 0) {
    write_row(t, &at.reached->spans, at.first, at.end, &written);
    return;
  }
  Span span = {at.first, at.end, type_of(&t->types, &written), 0};
  if (!t->refused && !spans_write(&t->types, &at.reached->spans, span))
    t->types.out_of_memory = true;
}

static bool comes_before(const TypeUse *a, const TypeUse *b) {
  return a->end != b->end ? a->end < b->end : a->first < b->first;
}

/* Nodes that have added the same micro-batches stand together. False: there is no room. */
static bool insert_use(Type *sum, TypeUse use) {
  uint32_t i = 0;
  while (i < sum->use_count && comes_before(&sum->use[i], &use))
    i++;
  if (i < sum->use_count && !comes_before(&use, &sum->use[i])) {
    sum->use[i].nodes |= use.nodes;
    return true;
  }
  if (sum->use_count == TYPE_USES_MAX) return false;
  memmove(sum->use + i + 1, sum->use + i, (sum->use_count - i) * sizeof *sum->use);
  sum->use[i] = use;
  sum->use_count++;
  return true;
}

static void remove_nodes(Type *sum, uint32_t i, uint64_t nodes) {
  sum->use[i].nodes &= ~nodes;
  if (sum->use[i].nodes != 0) return;
  sum->use_count--;
  memmove(sum->use + i, sum->use + i + 1, (sum->use_count - i) * sizeof *sum->use);
  sum->use[sum->use_count] = (TypeUse){0};
}

/* Joins the micro-batches of some nodes: those of each follow each other. */
static bool join_use(Type *sum, TypeUse use) {
  TypeUse joined[TYPE_USES_MAX];
  uint32_t count = 0;
  for (uint32_t i = sum->use_count; i-- > 0;) {
    uint64_t met = sum->use[i].nodes & use.nodes;
    if (met == 0) continue;
    if (sum->use[i].end != use.first) return false;
    joined[count++] = (TypeUse){met, sum->use[i].first, use.end};
    use.nodes &= ~met;
    remove_nodes(sum, i, met);
  }
  bool fits = use.nodes == 0 || insert_use(sum, use);
  while (count > 0 && fits)
    fits = insert_use(sum, joined[--count]);
  return fits;
}

/* The same tensor, in the same parts; its uses may differ. */
static bool same_sum(const Type *a, const Type *b) {
  return a->kind == b->kind && a->ref == b->ref && a->layer == b->layer && a->dtype == b->dtype &&
         a->part == b->part && a->piece == b->piece &&
         memcmp(a->place, b->place, sizeof a->place) == 0;
}

bool join_sums(Type *sum, const Type *other) {
  bool joins = sum->kind == TYPE_SUM && same_sum(sum, other);
  for (uint32_t i = 0; i < other->use_count && joins; i++)
    joins = join_use(sum, other->use[i]);
  return joins;
}

/* Those behind this node, of its region, that add to the same sum. */
static uint64_t uses_behind(const Typing *t, uint32_t value, uint32_t node) {
  const uint32_t *region = t->meaning.region_of;
  uint64_t behind = 0;
  for (uint32_t n = node + 1; n < t->plan->nodes_count && region[n] == region[node]; n++)
    behind |= use_bit(&t->meaning, value, n);
  return behind;
}

/* Uses of one region are added in the order of its nodes, micro-batch by micro-batch, so that sums
 * round alike. */
static bool in_order(const Typing *t, const Type *sum, uint32_t node) {
  uint64_t behind = uses_behind(t, sum->ref, node);
  for (uint32_t i = 0; i < sum->use_count; i++)
    if ((sum->use[i].nodes & behind) != 0 && sum->use[i].end > 0) return false;
  return true;
}

void add_to_sum(Typing *t, uint32_t operand, Type *sum, uint32_t node) {
  bool is_first = (t->walk.call->flags & CALL_FIRST_MICROBATCH) != 0;
  const TypeUse use = {use_bit(&t->meaning, sum->ref, node), is_first ? USE_FROM_START : 0, 1};
  const Type found = t->at->accumulate ? read_type(t, operand) : (Type){.kind = TYPE_ZERO};
  sum->microbatch = TYPE_ANY;
  sum->use_count = 0;
  if (found.kind != TYPE_ZERO && !same_sum(&found, sum)) {
    refuse_operand(t, operand, &found, sum);
    return;
  }
  if (found.kind != TYPE_ZERO) *sum = found;
  if (use.nodes == 0 || !in_order(t, sum, node) || !join_use(sum, use)) {
    Type wanted = {.kind = TYPE_SUM, .ref = sum->ref, .layer = sum->layer, .use_count = 1};
    wanted.use[0] = (TypeUse){use.nodes, USE_FROM_START, 0};
    refuse_operand(t, operand, &found, &wanted);
    return;
  }
  write_type(t, operand, sum);
}

bool sum_is_complete(const Typing *t, const Type *sum) {
  return sum->use_count == 1 && sum->use[0].nodes == all_uses(&t->meaning, sum->ref) &&
         sum->use[0].first == USE_FROM_START &&
         (int64_t)sum->use[0].end + t->walk.microbatch == t->microbatches;
}
