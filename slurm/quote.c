/* quote.c -- see quote.h. sbatch's own splitter: src/sbatch/opt.c, _get_argument. */
#include "slurm/quote.h"

#include <string.h>

static bool is_plain(const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_./:=@%+-";
  return *text && !text[strspn(text, plain)];
}

const char *quote_shell(Arena *arena, const char *text) {
  if (is_plain(text)) return text;
  char *quoted = arena_alloc(arena, 4 * strlen(text) + 3), *out = quoted;
  *out++ = '\'';
  for (; *text; text++) {
    if (*text == '\'') {
      for (const char *p = "'\\''"; *p; p++)
        *out++ = *p;
    } else {
      *out++ = *text;
    }
  }
  *out++ = '\'';
  return quoted;
}

const char *quote_directive(Arena *arena, const char *text) {
  if (is_plain(text)) return text;
  char *quoted = arena_alloc(arena, 2 * strlen(text) + 3), *out = quoted;
  *out++ = '"';
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') *out++ = '\\';
    *out++ = *text;
  }
  *out++ = '"';
  return quoted;
}
