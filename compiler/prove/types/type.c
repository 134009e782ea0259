#include "compiler/prove/types/type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/hash.h"
#include "runtime/plan/plan_text.h"

/* ---- types */

bool types_open(Types *types) {
  *types = (Types){.capacity = 1024, .slot_count = 4096};
  types->type = calloc(types->capacity, sizeof *types->type);
  types->slot = calloc(types->slot_count, sizeof *types->slot);
  types->count = 1; /* TYPE_NOTHING */
  types->out_of_memory = types->type == NULL || types->slot == NULL;
  return !types->out_of_memory;
}

void types_close(Types *types) {
  free(types->type);
  free(types->slot);
}

static uint64_t hash_bytes(const void *bytes, size_t size) {
  uint64_t hash = size, word = 0;
  for (size_t i = 0; i + sizeof word <= size; i += sizeof word) {
    memcpy(&word, (const char *)bytes + i, sizeof word);
    hash = hash_mix(hash, word);
  }
  return hash;
}

_Static_assert(sizeof(Type) % sizeof(uint64_t) == 0, "hashed and compared as bytes");
_Static_assert(sizeof(Span) == 24, "hashed and compared as bytes");

/* Twice as many slots, each number + 1 where its hash says. */
static bool slots_grow(uint32_t **slot, uint32_t *slot_count) {
  uint32_t *more = calloc((size_t)*slot_count * 2, sizeof *more);
  if (more == NULL) return false;
  free(*slot);
  *slot = more;
  *slot_count *= 2;
  return true;
}

static bool types_grow(Types *types) {
  if (types->count < types->capacity) return true;
  Type *more = realloc(types->type, (size_t)types->capacity * 2 * sizeof *more);
  if (more == NULL) return false;
  types->type = more;
  types->capacity *= 2;
  if (!slots_grow(&types->slot, &types->slot_count)) return false;
  for (uint32_t i = 1; i < types->count; i++) {
    uint64_t at = hash_bytes(&types->type[i], sizeof(Type)) & (types->slot_count - 1);
    while (types->slot[at] != 0)
      at = (at + 1) & (types->slot_count - 1);
    types->slot[at] = i + 1;
  }
  return true;
}

uint32_t type_of(Types *types, const Type *type) {
  if (type->kind == TYPE_NOTHING) return 0;
  uint64_t at = hash_bytes(type, sizeof *type) & (types->slot_count - 1);
  for (; types->slot[at] != 0; at = (at + 1) & (types->slot_count - 1)) {
    uint32_t number = types->slot[at] - 1;
    if (memcmp(&types->type[number], type, sizeof *type) == 0) return number;
  }
  Type copy = *type; /* may stand among those that move */
  if (!types_grow(types)) {
    types->out_of_memory = true;
    return 0;
  }
  at = hash_bytes(&copy, sizeof copy) & (types->slot_count - 1);
  while (types->slot[at] != 0)
    at = (at + 1) & (types->slot_count - 1);
  types->slot[at] = types->count + 1;
  types->type[types->count] = copy;
  return types->count++;
}

static void shift(int32_t *number, int32_t by) {
  if (*number != TYPE_ANY) *number += by; /* USE_FROM_START is the same number */
}

/* Whether it is the same seen from every layer and micro-batch. */
static bool is_fixed(const Type *type) {
  return type->layer == TYPE_ANY && type->microbatch == TYPE_ANY && type->use_count == 0;
}

static uint32_t make_shifted(Types *types, uint32_t number, int32_t layers, int32_t microbatches) {
  Type type = types->type[number];
  shift(&type.layer, layers);
  shift(&type.microbatch, microbatches);
  for (uint32_t i = 0; i < type.use_count; i++) {
    shift(&type.use[i].first, microbatches);
    shift(&type.use[i].end, microbatches);
  }
  return type_of(types, &type);
}

uint32_t type_shifted(Types *types, uint32_t number, int32_t layers, int32_t microbatches) {
  if ((layers == 0 && microbatches == 0) || is_fixed(&types->type[number])) return number;
  uint64_t hash = hash_mix(hash_mix(number, (uint32_t)layers), (uint32_t)microbatches);
  struct Shifted *last = &types->shifted[hash & (TYPES_SHIFTED - 1)];
  if (last->from != number || last->layers != layers || last->microbatches != microbatches) {
    uint32_t to = make_shifted(types, number, layers, microbatches);
    *last = (struct Shifted){number, to, layers, microbatches};
  }
  return last->to;
}

/* ---- spans */

uint32_t spans_find(const Spans *spans, uint64_t offset) {
  uint32_t low = 0, high = spans->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (spans->at[middle].end > offset)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

uint32_t spans_read(const Types *types, const Spans *spans, uint64_t first, uint64_t end) {
  uint32_t at = spans_find(spans, first);
  if (at == spans->count || spans->at[at].first > first || spans->at[at].end < end) return 0;
  const Span *span = &spans->at[at];
  if (span->first == first && span->end == end) return span->type;
  return types->type[span->type].kind == TYPE_ZERO ? span->type : 0;
}

static bool spans_insert(Spans *spans, uint32_t at, Span span) {
  if (spans->count == spans->capacity) {
    uint32_t capacity = spans->capacity * 2 + 16;
    Span *more = realloc(spans->at, capacity * sizeof *more);
    if (more == NULL) return false;
    spans->at = more;
    spans->capacity = capacity;
  }
  memmove(spans->at + at + 1, spans->at + at, (spans->count - at) * sizeof *spans->at);
  spans->at[at] = span;
  spans->count++;
  return true;
}

bool spans_write(const Types *types, Spans *spans, Span span) {
  uint32_t at = spans_find(spans, span.first), end = at;
  Span left = {0}, right = {0};
  for (; end < spans->count && spans->at[end].first < span.end; end++) {
    Span was = spans->at[end];
    if (types->type[was.type].kind != TYPE_ZERO) continue;
    if (was.first < span.first) left = (Span){was.first, span.first, was.type, 0};
    if (was.end > span.end) right = (Span){span.end, was.end, was.type, 0};
  }
  if (spans->count > end)
    memmove(spans->at + at, spans->at + end, (spans->count - end) * sizeof *spans->at);
  spans->count -= end - at;
  if (left.end > 0 && !spans_insert(spans, at++, left)) return false;
  if (span.type != 0 && !spans_insert(spans, at++, span)) return false;
  return right.end == 0 || spans_insert(spans, at, right);
}

/* ---- contents */

bool contents_open(Contents *contents) {
  *contents = (Contents){.span_capacity = 1024, .capacity = 256, .slot_count = 1024, .count = 1};
  contents->span = calloc(contents->span_capacity, sizeof *contents->span);
  contents->content = calloc(contents->capacity, sizeof *contents->content);
  contents->slot = calloc(contents->slot_count, sizeof *contents->slot);
  return contents->span != NULL && contents->content != NULL && contents->slot != NULL;
}

void contents_close(Contents *contents) {
  free(contents->span);
  free(contents->content);
  free(contents->slot);
}

static bool contents_grow(Contents *contents, uint32_t spans) {
  while (contents->span_count + spans > contents->span_capacity) {
    Span *more = realloc(contents->span, (size_t)contents->span_capacity * 2 * sizeof *more);
    if (more == NULL) return false;
    contents->span = more;
    contents->span_capacity *= 2;
  }
  if (contents->count < contents->capacity) return true;
  struct Content *more = realloc(contents->content, (size_t)contents->capacity * 2 * sizeof *more);
  if (more == NULL) return false;
  contents->content = more;
  contents->capacity *= 2;
  if (!slots_grow(&contents->slot, &contents->slot_count)) return false;
  for (uint32_t i = 1; i < contents->count; i++) {
    uint64_t at = contents->content[i].hash & (contents->slot_count - 1);
    while (contents->slot[at] != 0)
      at = (at + 1) & (contents->slot_count - 1);
    contents->slot[at] = i + 1;
  }
  return true;
}

static uint32_t contents_number(Contents *contents, Types *types, const Spans *spans) {
  if (spans->count == 0) return 0;
  size_t bytes = spans->count * sizeof *spans->at;
  uint64_t hash = hash_bytes(spans->at, bytes);
  uint64_t at = hash & (contents->slot_count - 1);
  for (; contents->slot[at] != 0; at = (at + 1) & (contents->slot_count - 1)) {
    const struct Content *known = &contents->content[contents->slot[at] - 1];
    if (known->hash == hash && known->count == spans->count &&
        memcmp(contents->span + known->first, spans->at, bytes) == 0)
      return contents->slot[at] - 1;
  }
  if (!contents_grow(contents, spans->count)) {
    types->out_of_memory = true;
    return 0;
  }
  at = hash & (contents->slot_count - 1);
  while (contents->slot[at] != 0)
    at = (at + 1) & (contents->slot_count - 1);
  contents->slot[at] = contents->count + 1;
  memcpy(contents->span + contents->span_count, spans->at, bytes);
  contents->content[contents->count] = (struct Content){contents->span_count, spans->count, hash};
  contents->span_count += spans->count;
  return contents->count++;
}

static void least(int32_t *number, int32_t other) {
  if (other != TYPE_ANY && (*number == TYPE_ANY || other < *number)) *number = other;
}

Held contents_keep(Contents *contents, Types *types, Spans *spans) {
  Held held = {.layer = TYPE_ANY, .microbatch = TYPE_ANY};
  for (uint32_t i = 0; i < spans->count; i++) {
    const Type *type = &types->type[spans->at[i].type];
    least(&held.layer, type->layer);
    least(&held.microbatch, type->microbatch);
    for (uint32_t use = 0; use < type->use_count; use++)
      least(&held.microbatch, type->use[use].end);
  }
  if (held.layer == TYPE_ANY) held.layer = 0;
  if (held.microbatch == TYPE_ANY) held.microbatch = 0;
  for (uint32_t i = 0; i < spans->count; i++)
    spans->at[i].type = type_shifted(types, spans->at[i].type, -held.layer, -held.microbatch);
  held.content = contents_number(contents, types, spans);
  return held;
}

bool contents_spans(const Contents *contents, Types *types, Held held, int32_t layer,
                    int32_t microbatch, Spans *spans) {
  const struct Content *content = &contents->content[held.content];
  uint32_t count = held.content == 0 ? 0 : content->count;
  if (count > spans->capacity) {
    Span *more = realloc(spans->at, (count + 16) * sizeof *more);
    if (more == NULL) return false;
    spans->at = more;
    spans->capacity = count + 16;
  }
  spans->count = count;
  for (uint32_t i = 0; i < count; i++) {
    spans->at[i] = contents->span[content->first + i];
    spans->at[i].type =
        type_shifted(types, spans->at[i].type, held.layer - layer, held.microbatch - microbatch);
  }
  return true;
}

/* ---- for people */

#define ADD(...)                                                                                   \
  do {                                                                                             \
    int added_ = snprintf(text + used, TYPE_TEXT_BYTES - used, __VA_ARGS__);                       \
    used += added_ < 0                                ? 0                                          \
            : (size_t)added_ < TYPE_TEXT_BYTES - used ? (size_t)added_                             \
                                                      : TYPE_TEXT_BYTES - used - 1;                \
  } while (0)

static size_t add_place(const Plan *plan, const Type *type, uint32_t axis, char *text,
                        size_t used) {
  const Place *place = &type->place[axis];
  const char *name = plan_string(plan, plan->axes[axis].name);
  const PlanLayout *layout =
      type->ref < plan->values_count ? &plan->layouts[plan->values[type->ref].layout] : NULL;
  if (place->kind == PLACE_CUT && layout != NULL && place->dim < layout->dims_count)
    ADD(", %.16s cut by %.16s",
        plan_string(plan, plan->layout_dims[layout->dims_first + place->dim].name), name);
  else if (place->kind == PLACE_CUT)
    ADD(", cut by %.16s", name);
  else if (place->kind == PLACE_FLAT)
    ADD(", in pieces by %.16s", name);
  else if (place->kind == PLACE_ROW)
    ADD(", only the own piece by %.16s", name);
  else if (place->kind == PLACE_OWED)
    ADD(", summands by %.16s", name);
  return used;
}

static const char *noun(const Type *type) {
  if (type->kind == TYPE_STATE) return BufferKind_names[type->state];
  if (type->kind == TYPE_SQUARES) return "squares of gradients";
  if (type->kind == TYPE_ZERO) return "zeros";
  if (type->kind == TYPE_NOTHING) return "nothing known";
  return type->kind == TYPE_SUM ? "sum" : "value";
}

static size_t add_ring(const Type *type, char *text, size_t used) {
  if (type->ring.turn != 0) ADD(", of the rank %u back", type->ring.turn);
  if (type->ring.count != 0) ADD(", made of %u from %u back", type->ring.count, type->ring.first);
  return used;
}

static size_t add_uses(const Type *type, char *text, size_t used) {
  for (uint32_t i = 0; i < type->use_count; i++) {
    const TypeUse *use = &type->use[i];
    ADD(", use");
    for (uint32_t node = 0; node < PARAMETER_USES_MAX; node++)
      if ((use->nodes >> node & 1) != 0) ADD(" %u", node + 1);
    if (use->first != USE_FROM_START) ADD(" from %+d", use->first);
    ADD(" to %+d", use->end);
  }
  return used;
}

const char *type_text(const Plan *plan, const Type *type, char text[TYPE_TEXT_BYTES]) {
  size_t used = 0;
  text[0] = '\0';
  ADD("%s", noun(type));
  if (type->kind == TYPE_STATE) ADD(" (%s)", type->is_new ? "new" : "old");
  if (type->ref < plan->values_count && type->kind >= TYPE_VALUE && type->kind <= TYPE_SUM)
    ADD(" %.40s", plan_string(plan, plan->values[type->ref].name));
  if (type->part == PART_NO_BIAS) ADD(" without its bias");
  if (type->part == PART_STATISTICS) ADD(" statistics");
  if (type->part == PART_VIEWS) ADD(" in parts");
  if (type->kind >= TYPE_VALUE && type->dtype < DTYPE_COUNT) ADD(" %s", dtype_name(type->dtype));
  if (type->layer != TYPE_ANY && type->layer != 0) ADD(", layer %+d", type->layer);
  if (type->microbatch != TYPE_ANY && type->microbatch != 0)
    ADD(", micro-batch %+d", type->microbatch);
  used = add_uses(type, text, used);
  used = add_ring(type, text, used);
  for (uint32_t axis = 0; axis < plan->axes_count && axis < TYPE_AXES_MAX; axis++)
    if (plan->axes[axis].size > 1) used = add_place(plan, type, axis, text, used);
  return text;
}
#undef ADD
