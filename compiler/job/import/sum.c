/* sum.c -- see sum.h. */
#include "compiler/job/import/sum.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NESTED_MOST = 32 };

typedef struct Sum {
  const char *at;
  SumName *name;
  void *data;
  int depth;
  bool is_whole; /* as a shell computes: each quotient loses what is after the point */
} Sum;

static bool read_sum(Sum *s, double *number);

static void skip(Sum *s) {
  s->at += strspn(s->at, " \t");
}

static bool read_part(Sum *s, double *number) {
  skip(s);
  if (++s->depth > NESTED_MOST) return false;
  bool is_good = false;
  if (*s->at == '(') {
    s->at++;
    is_good = read_sum(s, number);
    skip(s);
    is_good = is_good && *s->at++ == ')';
  } else if (*s->at == '-' || *s->at == '+') {
    double sign = *s->at++ == '-' ? -1 : 1;
    is_good = read_part(s, number);
    *number *= sign;
  } else if (isdigit((unsigned char)*s->at) || *s->at == '.') {
    char plain[64];
    size_t count = 0, width = strspn(s->at, "0123456789_.");
    if (s->at[width] == 'e' || s->at[width] == 'E') {
      width++;
      width += s->at[width] == '-' || s->at[width] == '+';
      width += strspn(s->at + width, "0123456789");
    }
    for (size_t i = 0; i < width && count + 1 < sizeof plain; i++)
      if (s->at[i] != '_') plain[count++] = s->at[i];
    plain[count] = 0;
    char *end;
    *number =
        s->is_whole ? (double)strtoll(plain, &end, *plain == '0' ? 8 : 10) : strtod(plain, &end);
    s->at += width;
    is_good = *end == 0;
  } else if (isalpha((unsigned char)*s->at) || *s->at == '_') {
    size_t width = 0;
    while (isalnum((unsigned char)s->at[width]) || s->at[width] == '_')
      width++;
    is_good = s->name && s->name(s->data, s->at, width, number);
    s->at += width;
  }
  s->depth--;
  return is_good;
}

static bool read_power(Sum *s, double *number) {
  if (!read_part(s, number)) return false;
  skip(s);
  if (strncmp(s->at, "**", 2) != 0) return true;
  s->at += 2;
  double power;
  if (!read_part(s, &power)) return false;
  *number = pow(*number, power);
  return true;
}

static bool read_product(Sum *s, double *number) {
  if (!read_power(s, number)) return false;
  for (;;) {
    double other;
    skip(s);
    char sign = *s->at;
    if (sign != '*' && sign != '/' && sign != '%') return true;
    bool is_whole = sign == '/' && s->at[1] == '/';
    s->at += is_whole ? 2 : 1;
    if (!read_power(s, &other) || (sign != '*' && other == 0)) return false;
    *number = sign == '*' ? *number * other : sign == '%' ? fmod(*number, other) : *number / other;
    if (is_whole) *number = floor(*number);
    if (s->is_whole) *number = trunc(*number);
  }
}

static bool read_sum(Sum *s, double *number) {
  if (!read_product(s, number)) return false;
  for (;;) {
    double other;
    skip(s);
    char sign = *s->at;
    if (sign != '+' && sign != '-') return true;
    s->at++;
    if (!read_product(s, &other)) return false;
    *number += sign == '+' ? other : -other;
  }
}

static bool read_all(Sum s, double *number) {
  if (!read_sum(&s, number)) return false;
  skip(&s);
  return *s.at == 0 && isfinite(*number);
}

bool sum_read(const char *text, SumName *name, void *data, double *number) {
  return read_all((Sum){.at = text, .name = name, .data = data}, number);
}

bool sum_read_whole(const char *text, SumName *name, void *data, double *number) {
  return read_all((Sum){.at = text, .name = name, .data = data, .is_whole = true}, number) &&
         fabs(*number) < 0x1p63;
}
