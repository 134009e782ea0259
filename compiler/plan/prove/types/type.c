#include "compiler/plan/prove/types/type.h"

#include <string.h>

#include "compiler/plan/prove/walk.h"
#include "runtime/plan/plan_text.h"

_Static_assert(sizeof(Type) % sizeof(uint64_t) == 0, "hashed and compared as bytes");

/* Number 0 means nothing, in both pools. */
Types types_open(Arena *arena) {
  const Type nothing = {0};
  Types types = {.arena = arena};
  (void)pool_number(arena, &types.types, &nothing, sizeof nothing);
  (void)pool_number(arena, &types.contents, NULL, 0);
  types.type = (void *)types.types.bytes;
  return types;
}

static void shift(int32_t *number, int32_t by) {
  if (*number != TYPE_ANY)
    *number += by; /* USE_FROM_START is the same number and does not shift either */
}

static void shift_all(Type *type, int32_t layers, int32_t microbatches) {
  shift(&type->layer, layers);
  shift(&type->microbatch, microbatches);
  for (uint32_t i = 0; i < type->use_count; i++) {
    shift(&type->use[i].first, microbatches);
    shift(&type->use[i].end, microbatches);
  }
}

/* The lowest micro-batch of the type; TYPE_ANY: it has none. */
static int32_t lowest_microbatch(const Type *type) {
  int32_t lowest = type->microbatch;
  for (uint32_t i = 0; i < type->use_count; i++)
    if (lowest == TYPE_ANY || type->use[i].end < lowest) lowest = type->use[i].end;
  return lowest;
}

TypeNumber type_of(Types *types, const Type *type) {
  if (type->kind == TYPE_NOTHING) return (TypeNumber){0};
  const int32_t lowest = lowest_microbatch(type);
  TypeNumber number = {.layer = type->layer == TYPE_ANY ? 0 : type->layer,
                       .microbatch = lowest == TYPE_ANY ? 0 : lowest};
  Type first = *type;
  shift_all(&first, -number.layer, -number.microbatch);
  number.number = pool_number(types->arena, &types->types, &first, sizeof first);
  types->type = (void *)types->types.bytes;
  return number;
}

Type type_at(const Types *types, TypeNumber number) {
  Type type = types->type[number.number];
  shift_all(&type, number.layer, number.microbatch);
  return type;
}

void type_shift(const Types *types, TypeNumber *number, int32_t layers, int32_t microbatches) {
  const Type *type = &types->type[number->number];
  if (type->layer != TYPE_ANY) number->layer += layers;
  if (type->microbatch != TYPE_ANY || type->use_count > 0) number->microbatch += microbatches;
}

/* ---- as text */

static void add_place(const Plan *plan, const Type *type, uint32_t axis, Line *text) {
  static const char *const how[] = {[PLACE_CUT] = "cut",
                                    [PLACE_FLAT] = "in pieces",
                                    [PLACE_OWED] = "summands",
                                    [PLACE_ROW] = "only the own piece"};
  const Place *place = &type->place[axis];
  const PlanLayout *layout = &plan->layouts[plan->values[type->ref].layout];
  bool named = place->kind == PLACE_CUT && place->dim < layout->dims_count;
  if (place->kind == PLACE_WHOLE) return;
  line_add(text, ", %.16s%s%s by %.16s",
           named ? plan_string(plan, plan->layout_dims[layout->dims_first + place->dim].name) : "",
           named ? " " : "", how[place->kind], plan_string(plan, plan->axes[axis].name));
}

static void add_value(const Plan *plan, const Type *type, Line *text) {
  static const char *const parts[] = {[PART_NO_BIAS] = " without its bias",
                                      [PART_STATISTICS] = " statistics",
                                      [PART_VIEWS] = " in parts",
                                      [PART_CODES] = " codes",
                                      [PART_SCALES] = " scales"};
  static const char *const blocks[] = {[CODES_OF_ROWS] = " of 1 x 128",
                                       [CODES_OF_COLUMNS] = " of 128 x 1",
                                       [CODES_OF_SQUARES] = " of 128 x 128"};
  if (type->kind == TYPE_STATE) line_add(text, " (%s)", type->is_new ? "new" : "old");
  if (type->kind <= TYPE_SUM)
    line_add(text, " %.40s", plan_string(plan, plan->values[type->ref].name));
  if (type->part != PART_ALL) line_add(text, "%s", parts[type->part]);
  if (type->storage >> 6 != 0) line_add(text, "%s", blocks[type->storage >> 6]);
  line_add(text, " %s", dtype_name(type->dtype));
}

static void add_uses(const Type *type, Line *text) {
  for (uint32_t i = 0; i < type->use_count; i++) {
    const TypeUse *use = &type->use[i];
    line_add(text, ", use");
    for (uint32_t node = 0; node < PARAMETER_USES_MAX; node++)
      if ((use->nodes >> node & 1) != 0) line_add(text, " %u", node + 1);
    if (use->first != USE_FROM_START) line_add(text, " from %+d", use->first);
    line_add(text, " to %+d", use->end);
    if (use->runs > 0) line_add(text, " and %u of %u runs", use->runs, use->of);
  }
}

const char *type_text(const Plan *plan, const Type *type, char bytes[TYPE_TEXT_BYTES]) {
  static const char *const nouns[] = {[TYPE_NOTHING] = "nothing known",
                                      [TYPE_ZERO] = "zeros",
                                      [TYPE_VALUE] = "value",
                                      [TYPE_SUM] = "sum",
                                      [TYPE_SQUARES] = "squares of gradients"};
  Line text = {bytes, TYPE_TEXT_BYTES, 0};
  line_add(&text, "%s",
           type->kind == TYPE_STATE ? BufferKind_names[type->state] : nouns[type->kind]);
  if (type->kind < TYPE_VALUE) return bytes;
  add_value(plan, type, &text);
  if (type->layer != TYPE_ANY && type->layer != 0) line_add(&text, ", layer %+d", type->layer);
  if (type->microbatch != TYPE_ANY && type->microbatch != 0)
    line_add(&text, ", micro-batch %+d", type->microbatch);
  add_uses(type, &text);
  if (type->runs > 0) line_add(&text, ", run %u of %u", type->run + 1, type->runs);
  if (type->ring.turn != 0) line_add(&text, ", of the rank %u back", type->ring.turn);
  if (type->ring.count != 0)
    line_add(&text, ", made of %u from %u back", type->ring.count, type->ring.first);
  for (uint32_t axis = 0; axis < plan->axes_count && type->kind <= TYPE_SUM; axis++)
    add_place(plan, type, axis, &text);
  return bytes;
}
