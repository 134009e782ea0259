#include "compiler/plan/prove/types/typing.h"

#include <string.h>

#include "runtime/plan/plan_text.h"

/* ---- ranks */

uint32_t axes_of_comm(const Typing *t, uint32_t comm) {
  return t->plan->comms[comm].axes_mask & mesh_axes(t->plan);
}

uint32_t axes_dividing(const Typing *t, Divides what) {
  uint32_t axes = 0;
  EACH_BIT (axis, mesh_axes(t->plan))
    axes |= (uint32_t)(t->plan->axes[axis].divides == (uint32_t)what) << axis;
  return axes;
}

bool is_call_of(Typing *t, uint32_t region) {
  const PlanRegion *at = &t->plan->regions[region];
  const uint32_t kind = t->call.walk.program->kind;
  bool fits = (kind == PROGRAM_INIT || at->program == kind) &&
              (at->is_stack != 0) == (t->call.walk.call->layer >= 0);
  return fits || REFUSE(t, "it belongs to %.40s of %s, for other calls",
                        plan_string(t->plan, at->name), ProgramKind_names[at->program]);
}

void cut_samples(const Typing *t, Type *type) {
  EACH_BIT (axis, axes_dividing(t, DIVIDES_SAMPLES))
    type->place[axis] = (Place){.kind = PLACE_CUT};
}

/* ---- what the plan says of operands */

bool view_of(const Typing *t, uint32_t operand, KernelView *view) {
  const KernelContract *contract = record_contract(t);
  return contract != NULL && (int32_t)operand < contract->operand_count &&
         contract_view(contract, (int32_t)operand, record_dims(t), view);
}

void layout_places(const Plan *plan, uint32_t layout, Place *places) {
  const PlanLayout *at = &plan->layouts[layout];
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    bool is_flat = (at->flat_axes >> axis & 1) != 0 && plan->axes[axis].size > 1;
    places[axis] = (Place){.kind = is_flat ? PLACE_FLAT : PLACE_WHOLE};
  }
  for (uint32_t dim = 0; dim < at->dims_count; dim++) {
    const PlanLayoutDim *of = &plan->layout_dims[at->dims_first + dim];
    for (uint32_t i = 0; i < of->cuts_count; i++) {
      const PlanCut *cut = &plan->cuts[of->cuts_first + i];
      if (plan->axes[cut->axis].size > 1 && places[cut->axis].kind == PLACE_WHOLE)
        places[cut->axis] = (Place){PLACE_CUT, (uint8_t)dim, (uint8_t)cut->style, (uint8_t)i};
    }
  }
}

bool said_places(Typing *t, uint32_t operand, uint32_t value, Place *places) {
  uint32_t layout = operand_at(t, operand)->layout;
  if (layout == PLAN_NONE || !layouts_alike(t->plan, layout, t->plan->values[value].layout))
    return REFUSE(t, "the plan does not say how operand %u has %.40s", operand,
                  plan_string(t->plan, t->plan->values[value].name));
  layout_places(t->plan, layout, places);
  return true;
}

bool is_as_said(Typing *t, uint32_t operand, const Type *type) {
  uint32_t layout = operand_at(t, operand)->layout;
  Place said[TYPE_AXES_MAX] = {0};
  if (layout == PLAN_NONE) return true;
  if (!said_places(t, operand, type->ref, said)) return false;
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++) {
    const Place *place = &type->place[axis];
    bool is_summand = (t->plan->layouts[layout].owed_axes >> axis & 1) != 0;
    if (t->plan->axes[axis].divides == DIVIDES_SAMPLES || place->kind == PLACE_OWED) continue;
    if (is_summand || memcmp(&said[axis], place, sizeof *place) != 0)
      return refuse_along(t, axis, "an operand is stated to be cut differently", type);
  }
  return true;
}

bool right_size(Typing *t, uint32_t operand, uint32_t value, const Type *type) {
  Where at = where(t, operand);
  KernelView view;
  int64_t elements = (int64_t)(at.end - at.first) / dtype_bytes((DType)at.operand->dtype);
  if (view_of(t, operand, &view)) elements = view.rows * view.inner;
  const int64_t runs = type->runs > 0 ? type->runs : 1;
  int64_t wanted = meaning_elements(&t->proof.meaning, value, type->place);
  if (wanted % runs == 0 && elements == wanted / runs) return true;
  return REFUSE(t, "operand %u has %lld elements, %.40s has %lld on one rank", operand,
                (long long)elements, plan_string(t->plan, t->plan->values[value].name),
                (long long)wanted);
}

/* ---- types of operands */

Where where(Typing *t, uint32_t operand) {
  const PlanOperand *at = operand_at(t, operand);
  Where place = {.reached = &t->call.reached[t->call.base_reached[at->base]], .operand = at};
  place.first = t->call.base_offset[at->base] + at->offset;
  place.end = place.first + at->size_bytes;
  if (at->by == PLAN_NONE) return place;
  place.own_axes = axes_of_comm(t, at->by);
  place.end = place.first + at->size_bytes * plan_comm_size(t->plan, at->by);
  if (at->member_stride != (int64_t)at->size_bytes)
    REFUSE(t, "operand %u is not a piece of a row: pieces are %llu bytes, %lld apart", operand,
           (unsigned long long)at->size_bytes, (long long)at->member_stride);
  return place;
}

Where all_of(Typing *t, uint32_t operand) {
  const Where at = where(t, operand);
  if (at.operand->by != PLAN_NONE) REFUSE(t, "operand %u is one piece of a row of others", operand);
  return at;
}

void put(Typing *t, Spans *spans, uint64_t first, uint64_t end, const Type *type) {
  TypeSpan span = {first, end, type_of(&t->proof.types, type)};
  if (!t->class.refused) spans_write(&t->proof.types, spans, span);
}

bool next_span(const Typing *t, const Where *at, uint64_t offset, TypeSpan *span) {
  const Spans *spans = &at->reached->spans;
  uint32_t i = spans_find(spans, offset);
  if (i == spans->count || offset >= at->end || spans->at[i].first >= at->end) return false;
  *span = spans->at[i];
  if (type_kind(&t->proof.types, span->type) != TYPE_ZERO) return true;
  if (span->first < offset) span->first = offset;
  if (span->end > at->end) span->end = at->end;
  return true;
}

static uint64_t real_bytes(const Typing *t, const Type *type) {
  return (uint64_t)(meaning_elements(&t->proof.meaning, type->ref, type->place) *
                    dtype_bytes((DType)type->dtype));
}

/* The type that the record reads: its own run of tokens of a complete value, or the whole of a
 * value whose runs were written one by one. */
static Type read_runs(const Typing *t, const Spans *spans, uint64_t first, uint64_t end) {
  const uint32_t at = spans_find(spans, first);
  if (at == spans->count) return (Type){0};
  const TypeSpan *span = &spans->at[at];
  Type type = type_at(&t->proof.types, span->type);
  uint64_t bytes = end - first, runs = type.runs;
  if (type.kind != TYPE_VALUE) return (Type){0};
  if (runs == 0) {
    uint64_t whole = span->end - span->first, parts = t->call.at->parts;
    bool fits = parts > 0 && whole % parts == 0 && whole / parts == bytes &&
                span->first + t->call.at->part * bytes == first;
    type.run = t->call.at->part, type.runs = t->call.at->parts;
    return fits ? type : (Type){0};
  }
  for (type.run = 0; type.run < runs; type.run++, span++) {
    if (at + type.run == spans->count || span->first != first + type.run * (bytes / runs) ||
        span->end != span->first + bytes / runs)
      return (Type){0};
    const Type found = type_at(&t->proof.types, span->type);
    if (memcmp(&found, &type, sizeof type) != 0) return (Type){0};
  }
  type.run = type.runs = 0;
  return type;
}

Type read_row(Typing *t, const Spans *spans, uint64_t first, uint64_t end) {
  uint32_t at = spans_find(spans, first);
  if (at == spans->count || spans->at[at].first != first || spans->at[at].end > end)
    return (Type){0};
  uint64_t middle = spans->at[at].end;
  Type type = type_at(&t->proof.types, spans->at[at].type);
  if (type.runs > 0 && middle < end) return read_runs(t, spans, first, end);
  bool is_tensor = type.kind == TYPE_STATE || type.kind == TYPE_SUM;
  bool fits =
      middle == end ||
      (is_tensor && middle - first == real_bytes(t, &type) &&
       type_kind(&t->proof.types, spans_read(&t->proof.types, spans, middle, end)) == TYPE_ZERO);
  return fits ? type : (Type){0};
}

void write_row(Typing *t, Spans *spans, uint64_t first, uint64_t end, const Type *type) {
  if (t->class.refused) return;
  const Type zero = zeros((DType)type->dtype);
  uint64_t middle = first + real_bytes(t, type);
  if (middle > end) REFUSE(t, "the row is shorter than what it holds");
  if (middle < end) put(t, spans, middle, end, &zero);
  put(t, spans, first, middle, type);
}

/* A rank's own piece is the same, whether the other pieces of the row are current or old. */
static Type own_piece(Typing *t, const Where *at) {
  Type type = read_row(t, &at->reached->spans, at->first, at->end);
  if (type.kind <= TYPE_ZERO) return type;
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++) {
    if ((at->own_axes >> axis & 1) == 0) continue;
    if (type.place[axis].kind != PLACE_WHOLE && type.place[axis].kind != PLACE_ROW)
      return (Type){0};
    type.place[axis] = (Place){.kind = PLACE_FLAT};
  }
  type.piece = (int64_t)at->operand->size_bytes / dtype_bytes((DType)type.dtype);
  return type;
}

/* A run of tokens means nothing to a record that is about another. */
Type read_type(Typing *t, uint32_t operand) {
  Where at = where(t, operand);
  if (at.own_axes != 0) return own_piece(t, &at);
  Type type = found_in(t, &at.reached->spans, at.first, at.end);
  if (type.kind == TYPE_NOTHING) type = read_runs(t, &at.reached->spans, at.first, at.end);
  bool fits = type.runs == 0 || (type.run == t->call.at->part && type.runs == t->call.at->parts);
  return fits ? type : (Type){0};
}

void write_type(Typing *t, uint32_t operand, const Type *type) {
  Where at = where(t, operand);
  Type written = *type;
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++) {
    if ((at.own_axes >> axis & 1) == 0) continue;
    if (written.place[axis].kind != PLACE_FLAT && written.kind != TYPE_ZERO)
      REFUSE(t, "operand %u is one piece, and gets the whole", operand);
    written.place[axis].kind = PLACE_ROW;
  }
  if (at.own_axes != 0)
    write_row(t, &at.reached->spans, at.first, at.end, &written);
  else
    put(t, &at.reached->spans, at.first, at.end, &written);
}
