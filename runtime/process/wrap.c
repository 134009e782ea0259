/* wrap.c -- keeps parts that are separated by two blanks together. */
#include "runtime/process/wrap.h"

#include <stdbool.h>
#include <string.h>

/* A part, separated from others by two or more blanks, is not broken if it fits on a line. */
static int32_t part_bytes(const char *text) {
  const char *gap = strstr(text, "  ");
  int32_t line = (int32_t)strcspn(text, "\n");
  return gap && gap - text < line ? (int32_t)(gap - text) : line;
}

void print_wrapped(FILE *out, const char *text, int32_t column, int32_t indent, int32_t most) {
  bool is_begun = false; /* this line has text after which it may be broken */
  while (*text) {
    if (*text == '\n') {
      text += 1 + strspn(text + 1, " ");
      column = fprintf(out, "\n%*s", indent, "") - 1;
      is_begun = false;
    }
    int32_t blanks = (int32_t)strspn(text, " ");
    const char *word = text + blanks;
    int32_t width = (int32_t)strcspn(word, " \n"), part = part_bytes(word);
    bool begins_part = blanks >= 2 && indent + part <= most;
    bool is_full = column + blanks + (begins_part ? part : width) > most;
    if (is_begun && is_full) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
      blanks = 0;
    }
    fprintf(out, "%*s%.*s", blanks, "", width, word);
    column += blanks + width;
    is_begun = true;
    text = word + width;
  }
  fputc('\n', out);
}
