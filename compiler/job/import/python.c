/* python.c -- name = literal, as nanoGPT's configuration files have it, with arithmetic of numbers
 * and of names above. Nothing is executed: other lines are kept as unread. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "compiler/job/import/import.h"
#include "compiler/job/import/sum.h"

static const char *trimmed(Arena *arena, const char *from, const char *end) {
  while (from < end && strchr(" \t\r", *from))
    from++;
  while (end > from && strchr(" \t\r", end[-1]))
    end--;
  return arena_copy_n(arena, from, (size_t)(end - from));
}

/* The end of code on the line: a # outside of quotes. */
static const char *code_end(const char *line, const char *end) {
  char quote = 0;
  for (const char *p = line; p < end; p++) {
    if (quote && *p == '\\' && p + 1 < end) {
      p++;
    } else if (quote) {
      if (*p == quote) quote = 0;
    } else if (*p == '"' || *p == '\'') {
      quote = *p;
    } else if (*p == '#') {
      return p;
    }
  }
  return end;
}

static bool is_quoted(const char *text) {
  size_t length = strlen(text);
  return length >= 2 && (*text == '"' || *text == '\'') && text[length - 1] == *text &&
         !memchr(text + 1, *text, length - 2) && !strchr(text, '\\');
}

static bool number_of(void *data, const char *name, size_t length, double *number) {
  Import *im = data;
  for (int32_t i = im->leaves.count; i-- > 0;) {
    const Leaf *leaf = &im->leaves.at[i];
    if (strlen(leaf->key) != length || memcmp(leaf->key, name, length) != 0 ||
        leaf->kind != LEAF_NUMBER)
      continue;
    *number = leaf->number;
    return true;
  }
  return false;
}

static bool add(Import *im, const char *name, const char *value, Span at) {
  LeafKind kind = LEAF_TEXT;
  double number = 0;
  if (strcmp(value, "True") == 0 || strcmp(value, "False") == 0) {
    kind = LEAF_FLAG;
    number = *value == 'T';
  } else if (strcmp(value, "None") == 0) {
    kind = LEAF_NULL;
  } else if (is_quoted(value)) {
    value = arena_copy_n(im->c->arena, value + 1, strlen(value) - 2);
  } else if (sum_read(value, number_of, im, &number)) {
    kind = LEAF_NUMBER;
  } else {
    kind = LEAF_UNREAD;
  }
  for (int32_t i = 0; i < im->leaves.count; i++) /* a later line wins */
    if (im->leaves.at[i].at.file == at.file && strcmp(im->leaves.at[i].key, name) == 0)
      drop(&im->leaves.at[i], HOW_DECLINED,
           arena_printf(im->c->arena, "line %d sets it again", at.line), false);
  Leaf *leaf = leaf_add(im, name, kind, value, at);
  if (leaf) leaf->number = number;
  return leaf != NULL;
}

bool read_python(Import *im, const char *text, size_t size) {
  Arena *arena = im->c->arena;
  const char *end = text + size;
  int32_t line = 1;
  for (const char *at = text; at < end; line++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    const char *close = code_end(at, stop), *code = trimmed(arena, at, close);
    Span span = {.file = im->file, .line = line, .column = 1};
    size_t width = strspn(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const char *after = code + width + strspn(code + width, " \t");
    bool is_doc = is_quoted(code) || strncmp(code, "\"\"\"", 3) == 0;
    if (is_doc && strncmp(code, "\"\"\"", 3) == 0 &&
        !strstr(code + 3, "\"\"\"")) { /* a text of several lines */
      const char *over = strstr(stop, "\"\"\"");
      for (; over && stop < over; stop++)
        line += *stop == '\n';
      stop = over ? over + 3 : end;
      stop += strcspn(stop, "\n");
    } else if (width > 0 && width < PATH_MOST && *after == '=' && after[1] != '=' &&
               !isspace((unsigned char)*at)) {
      if (!add(im, arena_copy_n(arena, code, width),
               trimmed(arena, after + 1, after + strlen(after)), span))
        return false;
    } else if (*code && !is_doc) {
      Leaf *leaf = leaf_add(im, arena_printf(arena, "line %d", line), LEAF_UNREAD, code, span);
      if (!leaf) return false;
      leaf->why = "only name = value is read";
    }
    at = stop < end ? stop + 1 : end;
  }
  return true;
}
