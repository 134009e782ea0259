/* spans.c -- what a buffer holds, byte by byte. */
#include <string.h>

#include "compiler/plan/prove/types/type.h"

_Static_assert(sizeof(TypeSpan) % sizeof(uint64_t) == 0, "hashed and compared as bytes");

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

TypeNumber spans_read(const Types *types, const Spans *spans, uint64_t first, uint64_t end) {
  const TypeNumber none = {0};
  uint32_t at = spans_find(spans, first);
  if (at == spans->count || spans->at[at].first > first || spans->at[at].end < end) return none;
  const TypeSpan *span = &spans->at[at];
  if (span->first == first && span->end == end) return span->type;
  return type_kind(types, span->type) == TYPE_ZERO ? span->type : none;
}

/* Most writes replace a span by one of the same place: then no later span moves. */
void spans_write(const Types *types, Spans *spans, TypeSpan span) {
  uint32_t at = spans_find(spans, span.first), end = at, count = 0;
  TypeSpan left = {0}, right = {0}; /* the rest of zeros */
  for (; end < spans->count && spans->at[end].first < span.end; end++) {
    TypeSpan was = spans->at[end];
    if (type_kind(types, was.type) != TYPE_ZERO) continue;
    if (was.first < span.first) left = (TypeSpan){was.first, span.first, was.type};
    if (was.end > span.end) right = (TypeSpan){span.end, was.end, was.type};
  }
  TypeSpan written[3];
  if (left.type.number != 0) written[count++] = left;
  if (span.type.number != 0 && span.first < span.end) written[count++] = span;
  if (right.type.number != 0) written[count++] = right;
  uint32_t tail = spans->count - end;
  spans->at = pool_room(types->arena, spans->at, &spans->capacity, at + count + tail, sizeof span);
  if (at + count != end && tail > 0)
    memmove(spans->at + at + count, spans->at + end, tail * sizeof span);
  for (uint32_t i = 0; i < count; i++)
    spans->at[at + i] = written[i];
  spans->count = at + count + tail;
}

/* ---- contents */

static void least(int32_t *number, int32_t other) {
  if (*number == TYPE_ANY || other < *number) *number = other;
}

Held contents_keep(Types *types, Spans *spans) {
  Held held = {.layer = TYPE_ANY, .microbatch = TYPE_ANY};
  for (uint32_t i = 0; i < spans->count; i++) {
    const TypeNumber *number = &spans->at[i].type;
    const Type *type = &types->type[number->number];
    if (type->layer != TYPE_ANY) least(&held.layer, number->layer);
    if (type->microbatch != TYPE_ANY || type->use_count > 0)
      least(&held.microbatch, number->microbatch);
  }
  if (held.layer == TYPE_ANY) held.layer = 0;
  if (held.microbatch == TYPE_ANY) held.microbatch = 0;
  for (uint32_t i = 0; i < spans->count; i++)
    type_shift(types, &spans->at[i].type, -held.layer, -held.microbatch);
  held.content =
      pool_number(types->arena, &types->contents, spans->at, spans->count * sizeof *spans->at);
  return held;
}

void contents_spans(Types *types, Held held, int32_t layer, int32_t microbatch, Spans *spans) {
  uint32_t count = types->contents.row[held.content].size / (uint32_t)sizeof(TypeSpan);
  spans->at = pool_room(types->arena, spans->at, &spans->capacity, count, sizeof *spans->at);
  if (count > 0)
    memcpy(spans->at, pool_row(&types->contents, held.content), count * sizeof *spans->at);
  for (spans->count = 0; spans->count < count; spans->count++)
    type_shift(types, &spans->at[spans->count].type, held.layer - layer,
               held.microbatch - microbatch);
}
