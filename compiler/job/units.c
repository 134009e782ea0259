/* units.c -- see units.h. strtod is used on checked digits only: it also knows inf, nan and 0x. */
#include "compiler/job/units.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *text;
  double factor;
} scales[] = {{"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0},
              {"k", 1e3},     {"M", 1e6},        {"G", 1e9},           {"T", 1e12},
              {"P", 1e15}};

static bool read_number(const char **text, double *number) {
  const char *p = *text;
  if (!isdigit((unsigned char)*p) && !(*p == '.' && isdigit((unsigned char)p[1]))) return false;
  if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) return false;
  char *end;
  *number = strtod(p, &end);
  *text = end;
  return isfinite(*number);
}

/* A number with an optional scale, then `rest`. */
static bool read_scaled(const char *text, const char *rest, double *number) {
  if (!read_number(&text, number)) return false;
  double exponent;
  if (*text == '^') {
    text++;
    if (!read_number(&text, &exponent)) return false;
    *number = pow(*number, exponent);
  }
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    size_t width = strlen(scales[i].text);
    if (strncmp(text, scales[i].text, width) != 0 || strcmp(text + width, rest) != 0) continue;
    *number *= scales[i].factor;
    return isfinite(*number);
  }
  return strcmp(text, rest) == 0 && isfinite(*number);
}

bool units_count(const char *text, double *number) {
  return read_scaled(text, "", number);
}

bool units_signed(const char *text, double *number) {
  if (*text != '-') return units_count(text, number);
  if (!units_count(text + 1, number)) return false;
  *number = -*number;
  return true;
}

bool units_bytes(const char *text, double *size_bytes) {
  return read_scaled(text, "B", size_bytes);
}

bool units_rate(const char *text, double *bytes_per_s) {
  if (read_scaled(text, "B/s", bytes_per_s)) return true;
  if (!read_scaled(text, "b/s", bytes_per_s)) return false;
  *bytes_per_s /= 8;
  return true;
}

bool units_flops(const char *text, double *flops) {
  return read_scaled(text, "FLOP/s", flops);
}

bool units_duration(const char *text, double *time_s) {
  double total = 0;
  if (!*text) return false;
  while (*text) {
    double number;
    if (!read_number(&text, &number)) return false;
    double factor = *text == 's'   ? 1
                    : *text == 'm' ? 60
                    : *text == 'h' ? 3600
                    : *text == 'd' ? 86400
                                   : 0;
    if (factor == 0) return false;
    total += number * factor;
    text++;
  }
  *time_s = total;
  return isfinite(total);
}

bool units_latency(const char *text, double *time_ns) {
  static const struct {
    const char *unit;
    double factor;
  } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}};
  if (!read_number(&text, time_ns)) return false;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(text, units[i].unit) != 0) continue;
    *time_ns = round(*time_ns * units[i].factor);
    return isfinite(*time_ns);
  }
  return false;
}

static const struct {
  const char *word;
  Unit unit;
} words[] = {
    {"tokens", UNIT_TOKENS},  {"sequences", UNIT_SEQUENCES}, {"samples", UNIT_SAMPLES},
    {"steps", UNIT_STEPS},    {"epochs", UNIT_EPOCHS},       {"s", UNIT_SECONDS},
    {"bytes", UNIT_BYTES},    {"%", UNIT_PERCENT},           {"$/h", UNIT_DOLLARS_PER_HOUR},
    {"ns", UNIT_NANOSECONDS}, {"auto", UNIT_AUTO},           {"never", UNIT_NEVER}};

const char *units_word(Unit unit) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (words[i].unit == unit) return words[i].word;
  return "";
}

bool units_allow(const char *units, const char *unit) {
  size_t length = strlen(unit);
  for (const char *p = units;; p++) {
    size_t width = strcspn(p, "|");
    if (width == length && memcmp(p, unit, length) == 0) return true;
    p += width;
    if (!*p) return false;
  }
}

/* "10 steps"; also "1 step". */
static bool read_worded(const char *text, const char *units, Amount *amount) {
  const char *space = strchr(text, ' ');
  if (!space || space - text > 40) return false;
  char number[48] = {0};
  memcpy(number, text, (size_t)(space - text));
  if (!units_count(number, &amount->value)) return false;
  const char *word = space + strspn(space, " ");
  for (size_t i = 0; i < 5; i++) {
    size_t length = strlen(words[i].word);
    bool is_one = strlen(word) == length - 1 && strncmp(word, words[i].word, length - 1) == 0;
    if (strcmp(word, words[i].word) != 0 && !(is_one && amount->value == 1)) continue;
    amount->unit = words[i].unit;
    return units_allow(units, words[i].word);
  }
  return false;
}

bool units_amount(const char *text, const char *units, Amount *amount) {
  *amount = (Amount){0, UNIT_NEVER};
  if (units_allow(units, "never") && strcmp(text, "never") == 0) return true;
  amount->unit = UNIT_AUTO;
  if (units_allow(units, "auto") && strcmp(text, "auto") == 0) return true;
  if (read_worded(text, units, amount)) return true;
  amount->unit = UNIT_NONE;
  if (units_allow(units, "") && units_count(text, &amount->value)) return true;
  amount->unit = UNIT_BYTES;
  if (units_allow(units, "bytes") && units_bytes(text, &amount->value)) return true;
  amount->unit = UNIT_PERCENT;
  if (units_allow(units, "%") && read_scaled(text, "%", &amount->value)) return true;
  amount->unit = UNIT_DOLLARS_PER_HOUR;
  if (units_allow(units, "$/h") && *text == '$' && read_scaled(text + 1, "/h", &amount->value))
    return true;
  amount->unit = UNIT_NANOSECONDS;
  if (units_allow(units, "ns") && units_latency(text, &amount->value)) return true;
  amount->unit = UNIT_SECONDS;
  return units_allow(units, "s") && units_duration(text, &amount->value);
}

char *units_print_count(Arena *arena, double number) {
  for (int i = 3; i >= 0; i--) {
    double scaled = number / scales[i].factor;
    if (scaled >= 1 && scaled == floor(scaled))
      return arena_printf(arena, "%.0f%s", scaled, scales[i].text);
  }
  return arena_printf(arena, "%.15g", number);
}
