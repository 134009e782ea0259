/* parts.c -- views: parts of a joined value, equal ones, whose rows stand between rows of the
 * others. */
#include <string.h>

#include "compiler/prove/types/forms.h"

/* How the operand lies in its parent, if it has the value's part with these places: the parent's
 * bytes. False: it lies otherwise. */
static bool parent_bytes(const Typing *t, uint32_t value, const Place *places, const Where *at,
                         const View2D *view, Span *parent) {
  const Slice *slice = &t->meaning.value[value].slice;
  uint32_t dims = 0;
  (void)meaning_dims(&t->meaning, value, &dims);
  int64_t inner = 1, bytes = dtype_bytes((DType)at->operand->dtype);
  for (uint32_t i = slice->at; i < dims; i++)
    inner *= meaning_size(&t->meaning, value, places, i);
  uint64_t before = (uint64_t)(inner * slice->index * bytes);
  if (inner != view->inner || inner * slice->count != view->stride || before > at->first)
    return false;
  parent->first = at->first - before;
  parent->end = parent->first + (uint64_t)(view->rows * view->stride * bytes);
  return true;
}

/* Places of a part from those of its parent. False: the dim that is split is cut. */
static bool part_places(const Slice *slice, const Place *parent, Place *part) {
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++) {
    part[axis] = parent[axis];
    if (parent[axis].kind != PLACE_CUT) continue;
    if (parent[axis].dim == slice->at) return false;
    if (slice->drops && parent[axis].dim > slice->at) part[axis].dim--;
  }
  return true;
}

bool read_part(Typing *t, uint32_t operand, uint32_t value, Type *type) {
  const Slice *slice = &t->meaning.value[value].slice;
  Where at = where(t, operand);
  View2D view;
  if (slice->parent == PLAN_NONE || at.own_axes != 0 || !view_of(t, operand, &view)) return false;
  const Spans *spans = &at.reached->spans;
  uint32_t i = spans_find(spans, at.first);
  if (i == spans->count || spans->at[i].first > at.first) return false;
  const Type *parent = &t->types.type[spans->at[i].type];
  Span bytes;
  bool has = parent->part == PART_ALL ||
             (parent->part == PART_VIEWS && (parent->mask >> slice->index & 1) != 0);
  *type = *parent;
  if (parent->kind != TYPE_VALUE || parent->ref != slice->parent || !has ||
      !part_places(slice, parent->place, type->place) ||
      !parent_bytes(t, value, type->place, &at, &view, &bytes) ||
      bytes.first != spans->at[i].first || bytes.end != spans->at[i].end)
    return false;
  type->ref = value;
  type->part = PART_ALL;
  type->mask = 0;
  return true;
}

bool write_part(Typing *t, uint32_t operand, uint32_t value, const Type *type) {
  const Slice *slice = &t->meaning.value[value].slice;
  Where at = where(t, operand);
  View2D view;
  Span bytes = {0};
  if (slice->parent == PLAN_NONE || at.own_axes != 0 || !view_of(t, operand, &view) ||
      view.inner == view.stride || !parent_bytes(t, value, type->place, &at, &view, &bytes))
    return false;
  Type parent = *type;
  parent.ref = slice->parent;
  parent.part = PART_VIEWS;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++)
    if (type->place[axis].kind == PLACE_CUT && slice->drops && type->place[axis].dim >= slice->at)
      parent.place[axis].dim++;
  const Type *found =
      &t->types.type[spans_read(&t->types, &at.reached->spans, bytes.first, bytes.end)];
  parent.mask = found->mask;
  if (memcmp(found, &parent, sizeof parent) != 0) parent.mask = 0;
  parent.mask |= 1u << slice->index;
  if (parent.mask == (1u << slice->count) - 1) {
    parent.part = PART_ALL;
    parent.mask = 0;
  }
  put(t, &at.reached->spans, bytes.first, bytes.end, &parent);
  return true;
}
