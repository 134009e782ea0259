/* csv.c -- reads a record character by character and stores its fields one after another. */
#include "runtime/csv/csv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { RECORD_BYTES_MAX = 1 << 26, BAD = -2 /* not -1, which is EOF */ };

static bool refuse(Csv *csv, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* FILE: or FILE:LINE: before the words. */
static bool refuse(Csv *csv, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int at = csv->line > 0 ? snprintf(csv->why, sizeof csv->why, "%.200s:%lld: ", csv->path,
                                    (long long)csv->line)
                         : snprintf(csv->why, sizeof csv->why, "%.200s: ", csv->path);
  if (at >= 0) (void)vsnprintf(csv->why + at, sizeof csv->why - (size_t)at, format, list);
  va_end(list);
  return false;
}

static int bad_field(Csv *csv, const char *what) {
  refuse(csv, "%s", what);
  return BAD;
}

/* ---- characters */

/* Every kind of line end is returned as a single \n. */
static int next_char(Csv *csv) {
  int c = getc_unlocked(csv->in);
  if (c == '\r') {
    c = getc_unlocked(csv->in);
    if (c != '\n' && c != EOF) (void)ungetc(c, csv->in);
    c = '\n';
  }
  csv->lines_read += c == '\n';
  return c;
}

static int skip_blanks(Csv *csv) {
  int c;
  do {
    c = next_char(csv);
  } while (c == ' ' || c == '\t');
  return c;
}

static bool put(Csv *csv, int c) {
  if (csv->text_bytes == csv->text_room) {
    size_t room = csv->text_room > 0 ? 2 * csv->text_room : 256;
    if (room > RECORD_BYTES_MAX)
      return refuse(csv, "the record that begins here has more than %d MiB",
                    RECORD_BYTES_MAX >> 20);
    char *text = realloc(csv->text, room);
    csv->is_worlds = text == NULL;
    if (!text) return refuse(csv, "not enough memory for a record");
    csv->text = text;
    csv->text_room = room;
  }
  csv->text[csv->text_bytes++] = (char)c;
  return true;
}

/* ---- separators of other programs */

typedef struct Separator {
  char sign;
  const char *word;   /* in messages */
  const char *pandas; /* as read_csv takes it */
} Separator;

static const Separator separators[] = {{';', "';'", ";"},
                                       {'\t', "tabs", "\\t"},
                                       {'|', "'|'", "|"},
                                       {'\x01', "bytes of 1", "\\x01"},
                                       {'\x1f', "bytes of 31", "\\x1f"}};

static const Separator *separator_of(int c) {
  for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
    if (separators[i].sign == c) return &separators[i];
  return NULL;
}

/* The separator of the next record's fields, outside quotes; NULL: commas, or one field. */
static const Separator *find_separator(FILE *in) {
  const Separator *found = NULL;
  bool in_quotes = false, has_comma = false;
  int c = getc_unlocked(in);
  while (c == '\n' || c == '\r')
    c = getc_unlocked(in);
  for (; c != EOF && (in_quotes || (c != '\n' && c != '\r')); c = getc_unlocked(in)) {
    if (c == '"') in_quotes = !in_quotes;
    has_comma = has_comma || (c == ',' && !in_quotes);
    if (!in_quotes && found == NULL) found = separator_of(c);
  }
  return has_comma ? NULL : found;
}

/* True if the next line has a comma between two digits. */
static bool has_decimal_commas(FILE *in) {
  bool after_digit = false, after_comma = false;
  int c = getc_unlocked(in);
  while (c == '\n' || c == '\r')
    c = getc_unlocked(in);
  for (; c != EOF && c != '\n' && c != '\r'; c = getc_unlocked(in)) {
    bool is_digit = c >= '0' && c <= '9';
    if (is_digit && after_comma) return true;
    after_comma = c == ',' && after_digit;
    after_digit = is_digit;
  }
  return false;
}

/* Files are written with commas: a file that is not is named with the call that makes it so. */
static bool check_separator(Csv *csv) {
  long start = ftell(csv->in);
  const Separator *other = find_separator(csv->in);
  bool has_commas = other != NULL && has_decimal_commas(csv->in);
  if (start < 0 || fseek(csv->in, start, SEEK_SET) != 0) {
    csv->is_worlds = true;
    return refuse(csv, "cannot be read: %s", strerror(errno));
  }
  if (other == NULL) return true;
  csv->line = 1;
  return refuse(csv,
                "fields are separated by %s; write the file with commas: pandas.read_csv(FILE, "
                "sep=\"%s\"%s).to_csv(\"train.csv\", index=False)",
                other->word, other->pandas, has_commas ? ", decimal=\",\"" : "");
}

/* ---- fields: each reader returns the character after the field, or BAD */

static int read_plain(Csv *csv, int c) {
  size_t end = csv->text_bytes;
  for (; c != ',' && c != '\n' && c != EOF; c = next_char(csv)) {
    if (c == 0) return bad_field(csv, "a zero byte: this is not a text file");
    if (!put(csv, c)) return BAD;
    if (c != ' ' && c != '\t') end = csv->text_bytes;
  }
  csv->text_bytes = end; /* without trailing blanks */
  return c;
}

static int after_quote(Csv *csv, int c) {
  int blank = ' ';
  for (; c == ' ' || c == '\t'; c = next_char(csv))
    if (c == '\t') blank = c;
  if (c == ',' || c == '\n' || c == EOF) return c;
  const Separator *other = separator_of(c == '"' ? blank : c);
  if (other == NULL)
    return bad_field(csv, "text after a closing quote; inside quotes a quote is written twice");
  refuse(csv, "after a closing quote fields are separated by %s, and not by commas", other->word);
  return BAD;
}

static int read_quoted(Csv *csv) {
  csv->has_quotes = true;
  for (;;) {
    int c = next_char(csv);
    if (c == EOF) return bad_field(csv, "a quote is opened and never closed");
    if (c == '"') {
      c = next_char(csv);
      if (c != '"') return after_quote(csv, c);
    }
    if (!put(csv, c)) return BAD;
  }
}

static CsvResult read_fields(Csv *csv) {
  int c = skip_blanks(csv);
  if (c == EOF) return CSV_END;
  for (;; c = skip_blanks(csv)) {
    if (csv->field_count == CSV_COLUMNS_MAX) {
      refuse(csv, "more than %d fields", CSV_COLUMNS_MAX);
      return CSV_BAD;
    }
    csv->field_at[csv->field_count++] = csv->text_bytes;
    c = c == '"' ? read_quoted(csv) : read_plain(csv, c);
    if (c == BAD || !put(csv, 0)) return CSV_BAD;
    if (c != ',') return CSV_RECORD;
  }
}

static bool is_blank(const Csv *csv) {
  return csv->field_count == 1 && !csv->has_quotes && *csv_field(csv, 0) == 0;
}

static CsvResult read_record(Csv *csv) {
  CsvResult result;
  do {
    csv->line = csv->lines_read + 1;
    csv->field_count = 0;
    csv->text_bytes = 0;
    csv->has_quotes = false;
    result = read_fields(csv);
  } while (result == CSV_RECORD && is_blank(csv));
  if (ferror(csv->in)) {
    csv->is_worlds = true;
    refuse(csv, "cannot be read: %s", strerror(errno));
    return CSV_BAD;
  }
  return result;
}

/* ---- files */

static bool skip_mark(Csv *csv) {
  int c[3] = {getc_unlocked(csv->in), EOF, EOF};
  if (c[0] == 0xfe || c[0] == 0xff)
    return refuse(csv, "is not UTF-8 text (UTF-16?): save it as UTF-8");
  if (c[0] == 0xef) {
    c[1] = getc_unlocked(csv->in);
    c[2] = getc_unlocked(csv->in);
    if (c[1] == 0xbb && c[2] == 0xbf) return true;
  }
  rewind(csv->in);
  return true;
}

static bool read_header(Csv *csv) {
  CsvResult result = read_record(csv);
  if (result == CSV_BAD) return false;
  csv->line = result == CSV_END ? 0 : csv->line;
  if (result == CSV_END) return refuse(csv, "is empty; its first line names the columns");
  csv->column_count = csv->field_count;
  return true;
}

/* Excel takes the separator from a line before the header, as sep=; */
static bool check_first_line(Csv *csv) {
  char start[5] = "";
  long at = ftell(csv->in);
  size_t got = fread(start, 1, sizeof start, csv->in);
  bool is_note = got == sizeof start && strncasecmp(start, "sep=", 4) == 0;
  int after = is_note ? getc_unlocked(csv->in) : EOF;
  csv->line = 1;
  if (is_note && (after == '\n' || after == '\r' || after == EOF))
    return refuse(csv,
                  "sep=%c is a note for Excel: remove this line, so that the first one names "
                  "the columns",
                  start[4]);
  csv->line = 0;
  return (at >= 0 && fseek(csv->in, at, SEEK_SET) == 0) ||
         refuse(csv, "is a pipe, which cannot be read again: write it to a file first");
}

bool csv_open(Csv *csv, const char *path) {
  *csv = (Csv){.path = path, .in = fopen(path, "r")};
  if (!csv->in) return refuse(csv, "cannot be read: %s", strerror(errno));
  return skip_mark(csv) && check_first_line(csv) && check_separator(csv) && read_header(csv);
}

void csv_close(Csv *csv) {
  if (csv->in) fclose(csv->in);
  free(csv->text);
  csv->in = NULL;
  csv->text = NULL;
}

CsvResult csv_next(Csv *csv) {
  CsvResult result = read_record(csv);
  if (result != CSV_RECORD || csv->field_count == csv->column_count) return result;
  const char *hint = "";
  if (csv->field_count > csv->column_count)
    hint = "; put quotes around a value with a comma; the decimal sign is a point";
  else if (csv->field_count == 1 && strpbrk(csv_field(csv, 0), ";\t|"))
    hint = "; fields are separated by commas";
  refuse(csv, "%d field%s, but the header names %d column%s%s", csv->field_count,
         csv->field_count == 1 ? "" : "s", csv->column_count, csv->column_count == 1 ? "" : "s",
         hint);
  return CSV_BAD;
}

const char *csv_field(const Csv *csv, int32_t field) {
  return csv->text + csv->field_at[field];
}

int32_t csv_find(Csv *csv, const char *name) {
  int32_t found = -1;
  csv->why[0] = 0;
  for (int32_t i = 0; i < csv->field_count; i++) {
    if (strcmp(csv_field(csv, i), name) != 0) continue;
    if (found >= 0) {
      refuse(csv, "columns %d and %d are both called '%.100s'", found + 1, i + 1, name);
      return -1;
    }
    found = i;
  }
  return found;
}

/* ---- lines in memory */

bool csv_split(Csv *csv, const char *line) {
  *csv = (Csv){.path = "columns"};
  if (*line == 0) return true;
  csv->in = fmemopen((char *)(uintptr_t)line, strlen(line), "r");
  csv->is_worlds = csv->in == NULL;
  if (!csv->in) return refuse(csv, "not enough memory");
  return read_record(csv) != CSV_BAD;
}

size_t csv_quote(const char *name, char *out, size_t room) {
  size_t length = strlen(name), quotes = 0;
  for (const char *p = name; *p; p++)
    quotes += *p == '"';
  bool is_plain = length > 0 && !strpbrk(name, ",\"\r\n") && !strchr(" \t", name[0]) &&
                  !strchr(" \t", name[length - 1]);
  size_t bytes = is_plain ? length + 1 : length + quotes + 3;
  if (bytes > room) return bytes;
  char *to = out;
  if (!is_plain) *to++ = '"';
  for (const char *p = name; *p; p++) {
    if (*p == '"') *to++ = '"';
    *to++ = *p;
  }
  if (!is_plain) *to++ = '"';
  *to = 0;
  return bytes;
}
