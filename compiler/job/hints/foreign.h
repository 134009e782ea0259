/* foreign.h -- what people write by habit from another language: JSON keys, YAML colons,
 * Python comments, quotes of a word processor. Private to the room; used when a file failed. */
#ifndef LOCKSTEP_FOREIGN_H
#define LOCKSTEP_FOREIGN_H

#include "compiler/job/lua/sandbox_state.h"

typedef struct Foreign {
  Span span;
  const char *message;
  const char *fix; /* NULL: none that could be pasted */
} Foreign;

/* The first thing on the lines first..last of a source that is another language's. The file is
 * known to be wrong there, so what Lua could take in another way counts too ("# note"). */
bool foreign_find(Arena *arena, const Source *source, int32_t first, int32_t last, Foreign *found);

/* A character outside ASCII at `at`, outside texts and comments, on the line that begins at `line`.
 * False: it is not UTF-8. *length: its length in bytes, or the length of the whole quoted text. */
bool foreign_letter(Arena *arena, const char *line, const char *at, int32_t *length,
                    Foreign *found);

/* A piece of JSON, YAML or Python as Lua: "lr": 1e-3 -> lr = 1e-3, [1] -> {1}, None -> nil. */
const char *foreign_as_lua(Arena *arena, const char *from, const char *end);

/* The value at `at`, up to a comma or bracket that ends it on this line, as Lua. A
 * word that is no value is put in quotes. NULL: it is empty or continues beyond the line. */
const char *foreign_value(Arena *arena, const char *at);

#endif
