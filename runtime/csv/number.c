/* number.c -- the number or the id in a field. A number is decimal: a sign, digits with a point, an
 * exponent. What strtod would read beyond that (0x1p3, nan, inf) is refused, because such a field
 * is a mistake of the program that wrote it. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/csv/csv.h"

enum { SHOWN_BYTES = 40, ID_MAX = 1 << 24 /* f32 represents all integers up to this */ };

/* At most SHOWN_BYTES of the text, in whole characters and without control characters. */
static const char *shown(const char *text, char out[SHOWN_BYTES + 1]) {
  size_t bytes = strnlen(text, SHOWN_BYTES);
  if (text[bytes] != 0)
    while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
      bytes--;
  memcpy(out, text, bytes);
  for (size_t i = 0; i < bytes; i++)
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) out[i] = '?';
  out[bytes] = 0;
  return out;
}

static bool refuse(Csv *csv, const char *column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* FILE:LINE:COLUMN: before the words. */
static bool refuse(Csv *csv, const char *column, const char *format, ...) {
  char name[SHOWN_BYTES + 1];
  int at = snprintf(csv->why, sizeof csv->why, "%.200s:%lld:%s: ", csv->path, (long long)csv->line,
                    shown(column, name));
  va_list list;
  va_start(list, format);
  if (at >= 0) (void)vsnprintf(csv->why + at, sizeof csv->why - (size_t)at, format, list);
  va_end(list);
  return false;
}

static const char digits[] = "0123456789";

static bool is_decimal(const char *text) {
  text += *text == '-' || *text == '+';
  size_t before = strspn(text, digits), after = 0;
  text += before;
  if (*text == '.') {
    after = strspn(text + 1, digits);
    text += 1 + after;
  }
  if (before + after == 0) return false;
  if (*text == 'e' || *text == 'E') {
    text++;
    text += *text == '-' || *text == '+';
    size_t exponent = strspn(text, digits);
    if (exponent == 0) return false;
    text += exponent;
  }
  return *text == 0;
}

/* ---- how a text that is not decimal should be written */

/* Without grouping, and with a point for a decimal comma: the last sign of the two is the decimal
 * one, and one that is repeated groups digits. False: that is not a number either. */
static bool plain_form(const char *text, char out[SHOWN_BYTES + 1]) {
  const char *comma = strrchr(text, ','), *point = strrchr(text, '.');
  char sign = comma && (!point || comma > point) ? ',' : '.';
  bool repeats = strchr(text, sign) != strrchr(text, sign);
  size_t bytes = 0;
  for (; *text && bytes < SHOWN_BYTES; text++) {
    if (*text == sign && !repeats)
      out[bytes++] = '.';
    else if (!strchr(",._' ", *text))
      out[bytes++] = *text;
  }
  out[bytes] = 0;
  return *text == 0 && is_decimal(out);
}

/* One comma before three digits: of a thousand, or a decimal one. */
static bool is_ambiguous(const char *text) {
  const char *comma = strchr(text, ',');
  return comma && !strpbrk(text, "._' ") && strspn(comma + 1, digits) == 3 && comma[4] == 0;
}

/* Words that programs write for a missing value or one that is not a number. */
static bool is_of_no_number(const char *text) {
  static const char *const words[] = {"nan",  "inf",  "infinity", "na", "n/a",
                                      "#n/a", "null", "none",     "?"};
  text += *text == '-' || *text == '+';
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasecmp(text, words[i]) == 0) return true;
  return false;
}

static bool refuse_text(Csv *csv, const char *column, const char *text) {
  char value[SHOWN_BYTES + 1], plain[SHOWN_BYTES + 1], *end;
  shown(text, value);
  if (*text == 0)
    return refuse(csv, column, "is empty: fill in what is missing, or leave the row out");
  if (is_of_no_number(text))
    return refuse(csv, column,
                  "'%s' is not a finite number: fill in what is missing, or leave the row out",
                  value);
  if (is_ambiguous(text) && plain_form(text, plain)) {
    int whole = (int)strcspn(text, ",");
    return refuse(csv, column, "'%s' is not a number: write %.*s%s, or %s if its comma is decimal",
                  value, whole, text, text + whole + 1, plain);
  }
  if (plain_form(text, plain))
    return refuse(csv, column, "'%s' is not a number: write %s", value, plain);
  double hexadecimal = strtod(text, &end);
  if (end != text && *end == 0)
    return refuse(csv, column, "'%s' is not a decimal number: write %g", value, hexadecimal);
  if (isalpha((unsigned char)*text))
    return refuse(csv, column,
                  "'%s' is not a number; a category or a class is a whole number from 0", value);
  return refuse(csv, column, "'%s' is not a number: write digits and a point, as in -1.5 or 2e-3",
                value);
}

/* ---- what a field holds */

bool csv_number(Csv *csv, int32_t field, const char *column, float *number) {
  const char *text = csv_field(csv, field);
  char value[SHOWN_BYTES + 1];
  if (!is_decimal(text)) return refuse_text(csv, column, text);
  *number = strtof(text, NULL);
  return isfinite(*number) ||
         refuse(csv, column, "'%s' is above 3.4e38, the largest number of f32", shown(text, value));
}

bool csv_id(Csv *csv, int32_t field, const char *column, uint32_t vocab, float *id) {
  const char *text = csv_field(csv, field);
  char value[SHOWN_BYTES + 1];
  if (!csv_number(csv, field, column, id)) return false;
  double exact = strtod(text, NULL);
  uint32_t last = vocab <= ID_MAX ? vocab - 1 : ID_MAX;
  if (exact == floor(exact) && exact >= -ID_MAX && exact <= last) return true;
  return refuse(csv, column,
                "'%s' is not an id: ids are whole numbers from 0 to %u, or -1 for "
                "none%s",
                shown(text, value), last,
                exact == vocab ? "; subtract 1 where they are counted from 1" : "");
}
