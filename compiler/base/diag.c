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

const char *library_text(const Compile *c, const char *text) {
  const char *found = text != NULL && *c->specs_dir != '\0' ? strstr(text, c->specs_dir) : NULL;
  if (found == NULL || found[strlen(c->specs_dir)] != '/') return text;
  return arena_printf(c->arena, "%.*sspecs%s", (int)(found - text), text,
                      found + strlen(c->specs_dir));
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

/* `key = value`, said of a value that -D has set, as -D takes it; `option`: "-D section.key=..." */
static const char *as_typed(Arena *arena, const char *option, const char *fix) {
  const char *path = option + strlen("-D "), *key = path;
  size_t length = strcspn(path, "=");
  for (const char *p = path; p < path + length; p++)
    if (*p == '.') key = p + 1;
  size_t width = (size_t)(path + length - key);
  if (strncmp(fix, key, width) != 0 || strncmp(fix + width, " = ", 3) != 0)
    return arena_copy(arena, fix);
  const char *value = fix + width + 3;
  size_t end = strlen(value);
  if (*value == '"' && end > 1 && value[end - 1] == '"') value++, end -= 2; /* text needs none */
  const char *quote = strpbrk(value, " {") != NULL ? "'" : "";
  return arena_printf(arena, "-D %s%.*s=%.*s%s", quote, (int)length, path, (int)end, value, quote);
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
  bool is_typed = last->span.file != NULL && strncmp(last->span.file, "-D ", 3) == 0;
  last->fix = is_typed ? as_typed(c->arena, last->span.file, text) : arena_copy(c->arena, text);
}

/* ---- printing: a diagnostic stays together with its notes */

typedef struct DiagGroup {
  int32_t first, count;
} DiagGroup;

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

bool diag_is_accepted(const Diags *diags, const Diag *diag) {
  for (int32_t i = 0; i < diags->accepted_count && diag->severity == SEVERITY_LINT; i++)
    if (strcmp(diags->accepted[i], diag->name) == 0) return true;
  return false;
}

/* Insertion sort: lists are short, and equal ones keep the order in which they were found. */
static DiagGroup *sorted_groups(const Diags *diags, int32_t *count) {
  DiagGroup *groups = ARENA_ARRAY(diags->arena, DiagGroup, diags->list.count + 1);
  int32_t n = 0;
  for (int32_t i = 0; i < diags->list.count; i++) {
    if (diags->list.at[i].severity == SEVERITY_NOTE && n > 0) {
      groups[n - 1].count++;
    } else {
      groups[n++] = (DiagGroup){i, 1};
    }
  }
  int32_t printed = 0;
  for (int32_t i = 0; i < n; i++)
    if (!diag_is_accepted(diags, &diags->list.at[groups[i].first])) groups[printed++] = groups[i];
  n = printed;
  for (int32_t i = 1; i < n; i++) {
    DiagGroup moving = groups[i];
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

/* The source line, cut to 90 bytes around the caret, with the caret below. Widths are kept; bytes
 * that would control a terminal become '?'. */
static void print_line(char *line, const Span *span, FILE *out) {
  int32_t length = (int32_t)strlen(line), first = span->column > 60 ? span->column - 40 : 0;
  if (first > length) first = length;
  while (first > 0 && first < length && ((unsigned char)line[first] & 0xc0) == 0x80)
    first--; /* do not cut a letter in half */
  line[strnlen(line + first, 90) + (size_t)first] = '\0';
  length = (int32_t)strlen(line);
  for (char *p = line + first; *p != '\0'; p++) {
    bool is_latin = (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0;
    if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f) *p = '?';
    if (is_latin) p[0] = p[1] = '?';
  }
  for (char *bad = line + first; (bad = (char *)text_find_bad(bad, line + length)) != NULL;)
    *bad = '?';
  fprintf(out, "%5d | %s\n", span->line, line + first);
  if (span->column <= 0 || span->column > length + 1) return;
  fprintf(out, "      | ");
  for (int32_t i = first; i < span->column - 1; i++)
    if (((unsigned char)line[i] & 0xc0) != 0x80) fputc(line[i] == '\t' ? '\t' : ' ', out);
  fputc('^', out);
  for (int32_t i = 1; i < span->length && span->column - 1 + i < length; i++)
    if (((unsigned char)line[span->column - 1 + i] & 0xc0) != 0x80) fputc('~', out);
  fputc('\n', out);
}

static void print_source_line(const Span *span, FILE *out) {
  FILE *file = fopen(span->file, "r");
  if (file == NULL) return;
  char buffer[512];
  int32_t number = 1;
  while (number < span->line && fgets(buffer, sizeof buffer, file) != NULL)
    if (strchr(buffer, '\n') != NULL) number++;
  if (number == span->line && fgets(buffer, sizeof buffer, file) != NULL) {
    buffer[strcspn(buffer, "\r\n")] = '\0';
    bool has_mark = span->line == 1 && strncmp(buffer, "\xef\xbb\xbf", 3) == 0;
    print_line(buffer + (has_mark ? 3 : 0), span, out);
  }
  fclose(file);
}

static void print_place(const Span *span, FILE *out) {
  if (span->file == NULL) return;
  print_plain(span->file, out);
  if (span->line > 0) fprintf(out, ":%d", span->line);
  if (span->line > 0 && span->column > 0) fprintf(out, ":%d", span->column);
  fputs(": ", out);
}

/* Prints the message after the `column` bytes already on its line. Lines break between words before
 * column 80; a word that is too long, such as a path, gets its own line. */
static void print_message(const char *text, int32_t column, FILE *out) {
  enum { LINE_BYTES = 80, INDENT = 4 };
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

static void print_one(Arena *arena, const Diag *d, FILE *out, bool color) {
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
  fputc(':', out);
  print_message(arena_printf(arena, " %s", text_plain(arena, d->message)), head_bytes(d) - 1, out);
  if (d->severity != SEVERITY_NOTE && d->span.file != NULL && d->span.line > 0)
    print_source_line(&d->span, out);
  if (d->fix != NULL) fprintf(out, "        fix: %s\n", text_plain(arena, d->fix));
}

int32_t diags_print(const Diags *diags, FILE *out, bool color) {
  int32_t count, errors = 0;
  DiagGroup *groups = sorted_groups(diags, &count);
  for (int32_t i = 0; i < count; i++) {
    errors += diags->list.at[groups[i].first].severity == SEVERITY_ERROR;
    for (int32_t j = 0; j < groups[i].count; j++)
      print_one(diags->arena, &diags->list.at[groups[i].first + j], out, color);
  }
  return errors;
}

void diags_print_json(const Diags *diags, FILE *out) {
  static const char *const words[] = {"error", "lint", "note"};
  int32_t count;
  DiagGroup *groups = sorted_groups(diags, &count);
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
