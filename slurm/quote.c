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

const char *quote_line(Arena *arena, const char *text) {
  size_t length = strlen(text);
  bool is_printable = text_find_bad(text, text + length) == NULL;
  for (const char *p = text; *p; p++)
    is_printable &= (unsigned char)*p >= 0x20 && *p != 0x7f;
  if (is_printable) return quote_shell(arena, text);
  static const char digits[] = "0123456789abcdef";
  char *quoted = arena_alloc(arena, 4 * length + 4), *out = quoted;
  *out++ = '$';
  *out++ = '\'';
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte >= 0x20 && byte < 0x7f && byte != '\'' && byte != '\\') {
      *out++ = *text;
      continue;
    }
    *out++ = '\\';
    *out++ = 'x';
    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 15];
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
