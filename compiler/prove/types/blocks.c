/* blocks.c -- what moves parameters and gradients of whole blocks, tensor by tensor. */
#include <string.h>

#include "compiler/prove/types/typing.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_text.h"

/* ---- spans one by one */

static const Span *next_span(const Spans *spans, uint64_t *from, uint64_t end) {
  uint32_t at = spans_find(spans, *from);
  if (at == spans->count || spans->at[at].first >= end) return NULL;
  *from = spans->at[at].end;
  return &spans->at[at];
}

/* The elements of a span of one operand, in another. */
static Span same_elements(const Where *from, Span span, const Where *to) {
  uint64_t bytes = (uint64_t)dtype_bytes((DType)from->operand->dtype);
  uint64_t to_bytes = (uint64_t)dtype_bytes((DType)to->operand->dtype);
  span.end = to->first + (span.end - from->first) / bytes * to_bytes;
  span.first = to->first + (span.first - from->first) / bytes * to_bytes;
  return span;
}

void turn_spans(Typing *t, uint32_t from, uint32_t to, Turn *turn) {
  Where source = where(t, from), target = where(t, to);
  if (from != to) write_type(t, to, &(Type){0});
  const Span *found = NULL;
  uint64_t next = source.first;
  for (uint64_t at = source.first;
       !t->refused && (found = next_span(&source.reached->spans, &at, source.end)) != NULL;) {
    Span span = *found;
    Type type = t->types.type[span.type];
    bool is_zero = type.kind == TYPE_ZERO;
    if (is_zero && span.first < source.first) span.first = source.first;
    if (is_zero && span.end > source.end) span.end = source.end;
    if (span.first == next) next = span.end;
    if (span.first < source.first || span.end > source.end || type.dtype != source.operand->dtype) {
      refuse(t, "a tensor begins before operand %u, or ends behind it", from);
      return;
    }
    if (!turn(t, &type)) return;
    type.dtype = (uint8_t)target.operand->dtype;
    span = same_elements(&source, span, &target);
    span.type = type_of(&t->types, &type);
    if (!spans_write(&t->types, &target.reached->spans, span)) t->types.out_of_memory = true;
  }
  if (next < source.end && t->at->purpose != PURPOSE_CONTROL) /* the runtime writes there, too */
    refuse(t, "byte %llu of operand %u holds nothing known",
           (unsigned long long)(next - source.first), from);
}

/* ---- sums over ranks */

/* Over the ranks of a layer first, then over those that have other samples and tokens: one order,
 * so that sums round alike. */
static bool layer_is_whole(Typing *t, const Type *type) {
  const uint32_t axes = axes_of_comm(t, t->at->comm);
  if (t->at->purpose != PURPOSE_REDUCE) return true;
  for (uint32_t axis = 0; axis < t->plan->axes_count && axis < TYPE_AXES_MAX; axis++) {
    bool divides_layer = t->plan->axes[axis].divides == DIVIDES_FEATURES;
    if (!divides_layer || (axes >> axis & 1) != 0 || type->place[axis].kind != PLACE_OWED) continue;
    refuse(t, "it adds up summands of %.16s, which are to be added up over %.16s first",
           plan_string(t->plan, t->plan->comms[t->at->comm].name),
           plan_string(t->plan, t->plan->axes[axis].name));
    return false;
  }
  return true;
}

bool add_up(Typing *t, Type *type) {
  uint32_t axes = axes_of_comm(t, t->at->comm);
  if (t->plan->meanings[t->at->meaning].reduce != REDUCE_SUM) {
    refuse(t, "it does not add up");
    return false;
  }
  bool may_be_whole = t->at->purpose == PURPOSE_CONTROL; /* numbers and their weights alike */
  uint32_t own_axes = where(t, 0).own_axes;
  if (type->kind == TYPE_ZERO) return true;
  if (!layer_is_whole(t, type)) return false;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++) {
    if (type->place[axis].kind == PLACE_ROW && (own_axes >> axis & 1) == 0) {
      refuse(t, "it adds up other ranks' pieces, of which nothing is known");
      return false;
    }
    if ((axes >> axis & 1) == 0) continue;
    bool is_owed = type->place[axis].kind == PLACE_OWED;
    bool is_whole = type->place[axis].kind == PLACE_WHOLE;
    if (!is_owed && !(is_whole && may_be_whole)) {
      char holds[TYPE_TEXT_BYTES];
      refuse(t, "it adds up, over %.16s, what are no summands there: %s",
             plan_string(t->plan, t->plan->axes[axis].name), type_text(t->plan, type, holds));
      return false;
    }
    type->place[axis] = (Place){0};
  }
  return true;
}

void type_all_reduce(Typing *t) {
  turn_spans(t, 0, 0, add_up);
}

/* Losses and requests of all ranks, once; plan_check and records: over all of them. */
void type_control(Typing *t) {
  Where at = where(t, 0);
  PlanBytes sums = plan_slots_summed(t->plan);
  uint64_t block = plan_address(plan_tier(t->plan, TIER_DEVICE), t->plan->jobs[0].control_offset);
  uint64_t first = t->cells.at[at.reached->cell].first + at.first;
  if (t->at->kind != RECORD_ALL_REDUCE || first != block + sums.first ||
      at.end - at.first != sums.end - sums.first)
    refuse(t, "it adds up what are not the control values");
  if ((t->made & MADE_TOTALS) != 0) refuse(t, "the control values are added up again");
  t->made |= MADE_TOTALS;
  type_all_reduce(t);
}

/* ---- rows of pieces */

/* A tensor's pieces: where it is whole, and where a rank's own piece is. */
typedef struct RowMove {
  Spans *whole, *piece;
  uint64_t whole_first, whole_end, piece_first, piece_end;
  int64_t elements;
} RowMove;

static bool set_places(Typing *t, Type *type, PlaceKind from, PlaceKind to) {
  uint32_t axes = axes_of_comm(t, t->at->comm);
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++) {
    if ((axes >> axis & 1) == 0) continue;
    if (type->place[axis].kind != from) {
      char holds[TYPE_TEXT_BYTES];
      refuse(t, "along %.16s it finds %s", plan_string(t->plan, t->plan->axes[axis].name),
             type_text(t->plan, type, holds));
      return false;
    }
    type->place[axis] = (Place){.kind = (uint8_t)to};
  }
  return true;
}

static void put(Typing *t, Spans *spans, uint64_t first, uint64_t end, const Type *type) {
  Span span = {first, end, type_of(&t->types, type), 0};
  if (!t->refused && !spans_write(&t->types, spans, span)) t->types.out_of_memory = true;
}

/* A call of a layer moves that layer's tensors. */
static bool of_this_layer(Typing *t, const Type *type) {
  bool is = type->layer == TYPE_ANY || type->layer == 0 || t->walk.call->layer < 0;
  char holds[TYPE_TEXT_BYTES];
  if (!is) refuse(t, "it moves another layer: %s", type_text(t->plan, type, holds));
  return is;
}

static bool is_sum_or_state(Typing *t, const Type *type, const RowMove *move) {
  if (type->kind == TYPE_SUM || type->kind == TYPE_STATE) return of_this_layer(t, type);
  char holds[TYPE_TEXT_BYTES];
  refuse(t, "bytes %llu to %llu hold %s, not a tensor", (unsigned long long)move->whole_first,
         (unsigned long long)move->whole_end, type_text(t->plan, type, holds));
  return false;
}

static void scatter(Typing *t, const RowMove *move) {
  Type type = read_row(t, move->whole, move->whole_first, move->whole_end);
  bool in_place = move->piece == NULL;
  if (!is_sum_or_state(t, &type, move) || !layer_is_whole(t, &type) ||
      !set_places(t, &type, PLACE_OWED, in_place ? PLACE_ROW : PLACE_FLAT))
    return;
  if (in_place) {
    write_row(t, move->whole, move->whole_first, move->whole_end, &type);
    return;
  }
  type.piece = move->elements;
  put(t, move->piece, move->piece_first, move->piece_end, &type);
}

static void gather(Typing *t, const RowMove *move) {
  Type type =
      move->piece == NULL
          ? read_row(t, move->whole, move->whole_first, move->whole_end)
          : t->types.type[spans_read(&t->types, move->piece, move->piece_first, move->piece_end)];
  if (!is_sum_or_state(t, &type, move) ||
      !set_places(t, &type, move->piece == NULL ? PLACE_ROW : PLACE_FLAT, PLACE_WHOLE))
    return;
  if (move->piece != NULL && type.piece != move->elements) {
    refuse(t, "it gathers pieces of %lld elements as %lld", (long long)type.piece,
           (long long)move->elements);
    return;
  }
  type.piece = 0;
  write_row(t, move->whole, move->whole_first, move->whole_end, &type);
}

/* Goes over the record's pairs: a tensor each. */
static void move_rows(Typing *t, bool gathers) {
  bool in_place = t->at->operands_count == 1;
  Where first = where(t, 0), second = where(t, in_place ? 0 : 1);
  const Where *whole = gathers ? &second : &first, *piece = gathers ? &first : &second;
  uint64_t members = plan_comm_size(t->plan, t->at->comm);
  RowMove move = {.whole = &whole->reached->spans,
                  .piece = in_place ? NULL : &piece->reached->spans,
                  .whole_first = whole->first,
                  .piece_first = piece->first};
  for (uint32_t i = 0; i + 1 < t->at->dims_count && !t->refused; i += 2) {
    move.elements = record_dims(t)[i + 1];
    uint64_t bytes = (uint64_t)(move.elements * dtype_bytes((DType)whole->operand->dtype));
    if (record_dims(t)[i] != 1) refuse(t, "a tensor's pieces lie apart");
    move.whole_end = move.whole_first + bytes * members;
    move.piece_end = move.piece_first + bytes;
    if (gathers)
      gather(t, &move);
    else
      scatter(t, &move);
    move.whole_first = move.whole_end;
    move.piece_first = move.piece_end;
  }
}

void type_gather(Typing *t) {
  if (t->at->kind == RECORD_ALL_GATHER)
    move_rows(t, true);
  else
    refuse(t, "no rule says how it gathers");
}

/* ---- sums of two buffers */

static bool as_it_is(Typing *t, Type *type) {
  (void)t;
  return type->kind == TYPE_ZERO || type->kind == TYPE_SUM;
}

static void refuse_sum(Typing *t, const Type *sum, const Type *other) {
  char one[TYPE_TEXT_BYTES], two[TYPE_TEXT_BYTES];
  refuse(t, "%s; cannot be added to: %s", type_text(t->plan, other, two),
         type_text(t->plan, sum, one));
}

/* One tensor's, of which some are a rank's own piece of a row. */
static void add_pieces(Typing *t) {
  Type sum = read_type(t, 0), other = read_type(t, 1);
  sum.dtype = other.dtype = (uint8_t)where(t, 2).operand->dtype;
  if (join_sums(&sum, &other))
    write_type(t, 2, &sum);
  else
    refuse_sum(t, &sum, &other);
}

/* Span by span: both hold sums of one tensor, over micro-batches or uses that follow each other. */
static void add_spans(Typing *t) {
  Where a = where(t, 0), b = where(t, 1), y = where(t, 2);
  const Span *found = NULL;
  for (uint64_t at = a.first;
       !t->refused && (found = next_span(&a.reached->spans, &at, a.end)) != NULL;) {
    Span span = *found, met = same_elements(&a, span, &b), out = same_elements(&a, span, &y);
    Type sum = t->types.type[span.type];
    Type other = t->types.type[spans_read(&t->types, &b.reached->spans, met.first, met.end)];
    bool zeros = sum.kind == TYPE_ZERO && other.kind == TYPE_ZERO;
    bool fits = span.first >= a.first && span.end <= a.end && sum.dtype == a.operand->dtype &&
                other.dtype == b.operand->dtype;
    sum.dtype = other.dtype = (uint8_t)y.operand->dtype;
    if (!fits || (!zeros && !join_sums(&sum, &other))) {
      refuse_sum(t, &sum, &other);
      return;
    }
    put(t, &y.reached->spans, out.first, out.end, &sum);
  }
}

static void reduce_kernel(Typing *t) {
  KernelRole role = record_contract(t)->row->role;
  Where target = where(t, t->at->operands_count - 1);
  Type piece = {0};
  if (role == ROLE_ADD && target.own_axes != 0) {
    add_pieces(t);
  } else if (role == ROLE_ADD) {
    add_spans(t);
  } else if (role != ROLE_CAST) {
    refuse(t, "no rule says what it does to gradients");
  } else if (target.own_axes != 0) {
    piece = read_type(t, 0);
    if (piece.kind != TYPE_SUM) refuse(t, "it casts what is no piece of a gradient");
    piece.dtype = (uint8_t)target.operand->dtype;
    if (!t->refused) write_type(t, 1, &piece);
  } else {
    turn_spans(t, 0, 1, as_it_is);
  }
}

void type_reduce(Typing *t) {
  switch ((RecordKind)t->at->kind) {
  case RECORD_KERNEL: reduce_kernel(t); return;
  case RECORD_ALL_REDUCE: type_all_reduce(t); return;
  case RECORD_REDUCE_SCATTER:
    if (t->plan->meanings[t->at->meaning].reduce != REDUCE_SUM) refuse(t, "it does not add up");
    if (!t->refused) move_rows(t, false);
    return;
  case RECORD_EXCHANGE: type_join(t); return;
  default: refuse(t, "no rule says how it reduces");
  }
}
