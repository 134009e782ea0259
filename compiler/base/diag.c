#include <stdlib.h>
#include <string.h>

#include "compiler/base/base.h"

Compile *compile_new(const char *specs_dir) {
  Arena *arena = arena_new();
  Compile *c = ARENA_NEW(arena, Compile);
  c->arena = c->diags.arena = arena;
  c->specs_dir = arena_copy(arena, specs_dir);
  return c;
}

void compile_free(Compile *c) {
  if (c != NULL) arena_free(c->arena);
}

static void report(Compile *c, Severity severity, Span span, const char *name, const char *format,
                   va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *message = arena_alloc(c->arena, (size_t)length + 1);
  vsnprintf(message, (size_t)length + 1, format, arguments);
  VEC_PUSH(c->arena, &c->diags.list,
           (Diag){.severity = severity, .name = name, .span = span, .message = message});
  if (severity == SEVERITY_ERROR) c->diags.error_count++;
}

bool error_at(Compile *c, Span span, const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  report(c, SEVERITY_ERROR, span, name, format, arguments);
  va_end(arguments);
  return false;
}

void note_at(Compile *c, Span span, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  report(c, SEVERITY_NOTE, span, "note", format, arguments);
  va_end(arguments);
}

void lint_at(Compile *c, Span span, const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  report(c, SEVERITY_LINT, span, name, format, arguments);
  va_end(arguments);
}

void fix_last(Compile *c, const char *format, ...) {
  Diag *last = NULL;
  for (int32_t i = c->diags.list.count - 1; i >= 0 && last == NULL; i--)
    if (c->diags.list.at[i].severity != SEVERITY_NOTE) last = &c->diags.list.at[i];
  if (last == NULL) return;
  va_list arguments;
  va_start(arguments, format);
  char text[1024];
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  last->fix = arena_copy(c->arena, text);
}

/* ---- printing: a diagnostic and its notes stay together */

typedef struct Group {
  int32_t first, count;
} Group;

static int compare_text(const char *a, const char *b) {
  return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int compare_diags(const Diag *a, const Diag *b) {
  int order = compare_text(a->span.file, b->span.file);
  if (order == 0) order = (a->span.line > b->span.line) - (a->span.line < b->span.line);
  if (order == 0) order = (a->span.column > b->span.column) - (a->span.column < b->span.column);
  if (order == 0) order = strcmp(a->message, b->message);
  return order;
}

/* Insertion sort: lists are short, and equal ones keep the order in which they were found. */
static Group *sorted_groups(const Diags *diags, int32_t *count) {
  Group *groups = ARENA_ARRAY(diags->arena, Group, diags->list.count + 1);
  int32_t n = 0;
  for (int32_t i = 0; i < diags->list.count; i++) {
    if (diags->list.at[i].severity == SEVERITY_NOTE && n > 0) {
      groups[n - 1].count++;
    } else {
      groups[n++] = (Group){i, 1};
    }
  }
  for (int32_t i = 1; i < n; i++) {
    Group moving = groups[i];
    int32_t j = i;
    for (; j > 0 &&
           compare_diags(&diags->list.at[groups[j - 1].first], &diags->list.at[moving.first]) > 0;
         j--)
      groups[j] = groups[j - 1];
    groups[j] = moving;
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < n; i++) {
    const Diag *d = &diags->list.at[groups[i].first];
    const Diag *before = kept > 0 ? &diags->list.at[groups[kept - 1].first] : NULL;
    if (before == NULL || compare_diags(before, d) != 0 || strcmp(before->name, d->name) != 0)
      groups[kept++] = groups[i];
  }
  *count = kept;
  return groups;
}

static void print_source_line(const Span *span, FILE *out) {
  FILE *file = fopen(span->file, "r");
  if (file == NULL) return;
  char line[512];
  int32_t number = 1;
  while (number < span->line && fgets(line, sizeof line, file) != NULL)
    if (strchr(line, '\n') != NULL) number++;
  if (number == span->line && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\r\n")] = '\0';
    for (char *p = line; *p != '\0'; p++) /* nothing that would steer a terminal */
      if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f) *p = '?';
    /* Long lines: show the 90 bytes around the caret. */
    int32_t length = (int32_t)strlen(line), first = span->column > 60 ? span->column - 40 : 0;
    if (first > length) first = length;
    fprintf(out, "%5d | %.90s\n", span->line, line + first);
    if (span->column > 0 && span->column <= length + 1) {
      fprintf(out, "      | ");
      for (int32_t i = first; i < span->column - 1; i++)
        if (((unsigned char)line[i] & 0xc0) != 0x80) fputc(line[i] == '\t' ? '\t' : ' ', out);
      fputc('^', out);
      for (int32_t i = 1; i < span->length && span->column - 1 + i < length; i++)
        fputc('~', out);
      fputc('\n', out);
    }
  }
  fclose(file);
}

static void print_place(const Span *span, FILE *out) {
  if (span->file == NULL) return;
  fputs(span->file, out);
  if (span->line > 0) fprintf(out, ":%d", span->line);
  if (span->line > 0 && span->column > 0) fprintf(out, ":%d", span->column);
  fputs(": ", out);
}

/* The message behind `column` bytes of its line; lines break between words, before column 100. */
static void print_message(const char *text, int32_t column, FILE *out) {
  enum { LINE_BYTES = 100, INDENT = 4 };
  while (*text != '\0') {
    int32_t blank = (int32_t)strspn(text, " ");
    int32_t width = (int32_t)strcspn(text + blank, " \n");
    if (column + blank + width > LINE_BYTES && column > INDENT) {
      fprintf(out, "\n%*s", INDENT, "");
      column = INDENT;
      blank = 0;
      text += strspn(text, " ");
    }
    fprintf(out, "%.*s", blank + width, text);
    column += blank + width;
    text += blank + width;
    if (*text == '\n') {
      fputc(*text++, out);
      column = 0;
    }
  }
  fputc('\n', out);
}

static int32_t digits_of(int32_t number) {
  return number < 10 ? 1 : 1 + digits_of(number / 10);
}

static int32_t head_bytes(const Diag *d) {
  int32_t bytes = 2 + (d->severity == SEVERITY_NOTE ? 8 : 7 + (int32_t)strlen(d->name));
  if (d->span.file == NULL) return bytes;
  bytes += (int32_t)strlen(d->span.file) + 2;
  if (d->span.line > 0) bytes += 1 + digits_of(d->span.line);
  if (d->span.line > 0 && d->span.column > 0) bytes += 1 + digits_of(d->span.column);
  return bytes;
}

static void print_one(const Diag *d, FILE *out, bool color) {
  static const char *const words[] = {"error", "lint", "note"};
  static const char *const paints[] = {"\033[1;31m", "\033[1;33m", "\033[1;36m"};
  if (d->severity == SEVERITY_NOTE) fputs("    ", out);
  print_place(&d->span, out);
  if (color) fputs(paints[d->severity], out);
  if (d->severity == SEVERITY_NOTE)
    fputs("note", out);
  else
    fprintf(out, "%s[%s]", words[d->severity], d->name);
  if (color) fputs("\033[0m", out);
  fputs(": ", out);
  print_message(d->message, head_bytes(d), out);
  if (d->severity != SEVERITY_NOTE && d->span.file != NULL && d->span.line > 0)
    print_source_line(&d->span, out);
  if (d->fix != NULL) fprintf(out, "        fix: %s\n", d->fix);
}

void diags_print(const Diags *diags, FILE *out, bool color) {
  int32_t count;
  Group *groups = sorted_groups(diags, &count);
  for (int32_t i = 0; i < count; i++)
    for (int32_t j = 0; j < groups[i].count; j++)
      print_one(&diags->list.at[groups[i].first + j], out, color);
}

void print_json_text(const char *text, FILE *out) {
  fputc('"', out);
  for (; text != NULL && *text != '\0'; text++) {
    unsigned char ch = (unsigned char)*text;
    if (ch == '"' || ch == '\\')
      fprintf(out, "\\%c", ch);
    else if (ch < 0x20)
      fprintf(out, "\\u%04x", ch);
    else
      fputc(ch, out);
  }
  fputc('"', out);
}

void diags_print_json(const Diags *diags, FILE *out) {
  static const char *const words[] = {"error", "lint", "note"};
  int32_t count;
  Group *groups = sorted_groups(diags, &count);
  fputs("[", out);
  for (int32_t i = 0, printed = 0; i < count; i++) {
    for (int32_t j = 0; j < groups[i].count; j++) {
      const Diag *d = &diags->list.at[groups[i].first + j];
      fprintf(out, "%s{\"severity\":\"%s\",\"name\":", printed++ ? ",\n " : "", words[d->severity]);
      print_json_text(d->name, out);
      fputs(",\"file\":", out);
      print_json_text(d->span.file, out);
      fprintf(out, ",\"line\":%d,\"column\":%d,\"message\":", d->span.line, d->span.column);
      print_json_text(d->message, out);
      fputs(",\"fix\":", out);
      if (d->fix != NULL)
        print_json_text(d->fix, out);
      else
        fputs("null", out);
      fputs("}", out);
    }
  }
  fputs("]\n", out);
}

/* ---- did you mean */

/* Characters to change, add, remove, or swap with their neighbour. */
static int32_t edit_distance(const char *a, const char *b) {
  enum { LONGEST = 63 };
  int32_t row[LONGEST + 1], above[LONGEST + 1] = {0},
                                            before[LONGEST + 1]; /* above it, and above that */
  size_t a_length = strlen(a), b_length = strlen(b);
  if (a_length > LONGEST || b_length > LONGEST) return LONGEST;
  for (size_t j = 0; j <= b_length; j++)
    row[j] = (int32_t)j;
  for (size_t i = 1; i <= a_length; i++) {
    memcpy(before, above, sizeof row);
    memcpy(above, row, sizeof row);
    row[0] = (int32_t)i;
    for (size_t j = 1; j <= b_length; j++) {
      int32_t substituted = above[j - 1] + (a[i - 1] != b[j - 1]);
      int32_t shorter = above[j] < row[j - 1] ? above[j] + 1 : row[j - 1] + 1;
      row[j] = substituted < shorter ? substituted : shorter;
      bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
    }
  }
  return row[b_length];
}

const char *nearest_word(const char *word, const char *const *words, int32_t count) {
  const char *best = NULL;
  int32_t best_distance = 4;
  for (int32_t i = 0; i < count; i++) {
    int32_t distance = edit_distance(word, words[i]);
    size_t length = strlen(word) > strlen(words[i]) ? strlen(word) : strlen(words[i]);
    if (distance < best_distance && (size_t)distance * 2 <= length) {
      best = words[i];
      best_distance = distance;
    }
  }
  return best;
}
