/* span.h -- places of keys. Lua keeps no positions in tables, so the file is lexed once more and
 * every key path of the constructor `name { ... }` is mapped to the place of its key and of its
 * value. Private to the room. */
#ifndef LOCKSTEP_SPAN_H
#define LOCKSTEP_SPAN_H

#include "compiler/base/base.h"

typedef struct PlacedKey {
  const char *path; /* "train.batch"; list items are numbers from 1: "data.train.2" */
  Span key, value;
  bool is_repeated; /* the same key is twice in one table: Lua silently keeps the last */
} PlacedKey;

typedef struct SpanMap {
  const char *file;
  Span constructor;
  VEC(PlacedKey) keys;
} SpanMap;

/* `constructor`: "job", "model", or "return" for a file that returns a plain table. */
SpanMap *span_map(Arena *arena, const char *file, const char *text, const char *constructor);

/* The place of a key path; of the longest part of it that was written down (a section held in a
 * variable falls back to the key that uses it); of the constructor. */
Span span_of_key(const SpanMap *map, const char *path);
Span span_of_value(const SpanMap *map, const char *path);

#endif
