/* plan_parse.c -- reads the text form back: count, allocate one block, strings first, then every
 * other record. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_text.h"
#include "runtime/plan/plan_why.h"

enum { WORD_BYTES = 64 };

typedef struct Parser {
  const char *at, *end; /* the line being read; the text does not end with a NUL */
  const char *text_end;
  uint32_t line;
  char *why;
  PlanNames names;
  const char *strings;
  uint32_t strings_count;
  char *scratch; /* room for the longest string: the whole text */
  size_t scratch_bytes;
} Parser;

static bool fail(Parser *p, const char *what) {
  int shown = (int)(p->end - p->at < 40 ? p->end - p->at : 40);
  return plan_refuse(p->why, "line %u: %s at \"%.*s\"", p->line, what, shown, p->at);
}

/* ---- lines */

static void begin_text(Parser *p, const char *text, size_t text_bytes) {
  p->at = p->end = text;
  p->text_end = text + text_bytes;
  p->line = 0;
}

/* Moves to the next line that is not empty or a comment. */
static bool next_line(Parser *p) {
  while (p->end < p->text_end) {
    p->at = p->end;
    const char *newline = memchr(p->at, '\n', (size_t)(p->text_end - p->at));
    const char *stop = newline ? newline : p->text_end;
    p->line++;
    if (stop > p->at && *p->at != '#') {
      p->end = stop;
      return true;
    }
    p->end = newline ? newline + 1 : p->text_end;
  }
  return false;
}

static void end_line(Parser *p) {
  p->end += p->end < p->text_end;
}

static bool skip(Parser *p, const char *token) {
  size_t length = strlen(token);
  if ((size_t)(p->end - p->at) < length || memcmp(p->at, token, length) != 0) return false;
  p->at += length;
  return true;
}

/* Copies the line up to a blank or one of `stops`; numbers and names are short. */
static bool take_word(Parser *p, char word[WORD_BYTES], const char *stops) {
  size_t length = 0;
  for (; p->at < p->end && *p->at != ' ' && strchr(stops, *p->at) == NULL; p->at++) {
    if (length + 1 == WORD_BYTES) return false;
    word[length++] = *p->at;
  }
  word[length] = '\0';
  return length > 0;
}

static bool skip_hint(Parser *p) {
  if (!skip(p, "(")) return true;
  while (p->at < p->end)
    if (*p->at++ == ')') return true;
  return fail(p, "a parenthesis that does not close");
}

/* ---- values */

static bool take_unsigned(Parser *p, uint64_t limit, uint64_t *value) {
  *value = 0;
  const char *start = p->at;
  for (; p->at < p->end && isdigit((unsigned char)*p->at); p->at++)
    if (__builtin_mul_overflow(*value, 10u, value) ||
        __builtin_add_overflow(*value, (uint64_t)(*p->at - '0'), value) || *value > limit)
      return fail(p, "number too large");
  return p->at > start || fail(p, "expected a number");
}

static bool take_u32(Parser *p, uint32_t *value) {
  uint64_t wide = 0;
  bool taken = take_unsigned(p, UINT32_MAX, &wide);
  *value = (uint32_t)wide;
  return taken;
}

static bool take_i64(Parser *p, int64_t *value) {
  bool negative = skip(p, "-");
  uint64_t size = 0;
  if (!take_unsigned(p, (uint64_t)INT64_MAX + negative, &size)) return false;
  *value = negative ? (int64_t)(0 - size) : (int64_t)size;
  return true;
}

static bool take_i32(Parser *p, int32_t *value) {
  int64_t wide = 0;
  if (!take_i64(p, &wide)) return false;
  *value = (int32_t)wide;
  return *value == wide || fail(p, "number too large");
}

static bool take_real(Parser *p, double *value) {
  char word[WORD_BYTES], *stop;
  if (skip(p, "nan:")) {
    if (!take_word(p, word, "")) return fail(p, "expected 16 digits");
    uint64_t bits = strtoull(word, &stop, 16);
    memcpy(value, &bits, sizeof bits);
    return (*stop == '\0' && *value != *value) || fail(p, "no NaN");
  }
  if (!take_word(p, word, "")) return fail(p, "expected a number");
  *value = strtod(word, &stop);
  return *stop == '\0' || fail(p, "no number");
}

static int hex_digit(char c) {
  const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c) : NULL;
  return found ? (int)(found - digits) : -1;
}

/* Decodes "..." into `to`, or only counts if `to` is NULL. Returns the length without the NUL. */
static bool take_quoted(Parser *p, char *to, size_t room, size_t *length) {
  *length = 0;
  if (!skip(p, "\"")) return fail(p, "expected a quoted string");
  while (p->at < p->end && *p->at != '"') {
    char c = *p->at++;
    if (c == '\\') {
      if (p->at == p->end) break;
      c = *p->at++;
      if (c == 'x') {
        int high = p->end - p->at >= 2 ? hex_digit(p->at[0]) : -1;
        int low = high >= 0 ? hex_digit(p->at[1]) : -1;
        if (low < 0 || high * 16 + low == 0) return fail(p, "expected two hex digits, not 00");
        c = (char)(high * 16 + low);
        p->at += 2;
      }
    }
    if (c == '\0') return fail(p, "a NUL in a string");
    if (to != NULL && *length + 1 >= room) return fail(p, "string too long");
    if (to != NULL) to[*length] = c;
    ++*length;
  }
  if (to != NULL) to[*length] = '\0';
  return skip(p, "\"") || fail(p, "a string that does not close");
}

/* "text", or "text"@offset when an equal text comes earlier in the table. */
static bool take_string(Parser *p, uint32_t *offset) {
  char *text = p->scratch;
  size_t length;
  if (!take_quoted(p, text, p->scratch_bytes, &length)) return false;
  if (skip(p, "@")) {
    if (!take_u32(p, offset)) return false;
    if (*offset >= p->strings_count || strcmp(p->strings + *offset, text) != 0)
      return fail(p, "another string is there");
    return true;
  }
  *offset = plan_names_find(&p->names, text);
  return *offset != PLAN_NONE || fail(p, "no such string in the strings table");
}

static bool same_word(const char *word, const char *name) {
  for (; *word != '\0' && *name != '\0'; word++, name++)
    if (*word != (*name == ' ' ? '_' : *name)) return false;
  return *word == *name;
}

static bool take_name(Parser *p, const char *const *names, uint32_t count, const char *stops,
                      uint32_t *value) {
  char word[WORD_BYTES];
  if (!take_word(p, word, stops)) return fail(p, "expected a name");
  for (*value = 0; *value < count; ++*value)
    if (same_word(word, names[*value])) return true;
  p->at -= strlen(word);
  return fail(p, "no such name");
}

static bool take_flags(Parser *p, uint32_t *flags) {
  *flags = 0;
  if (skip(p, "-")) return true;
  do {
    uint32_t bit = 0;
    if (!take_name(p, CALL_names, CALL_FLAGS_BITS, "|", &bit)) return false;
    *flags |= 1u << bit;
  } while (skip(p, "|"));
  return true;
}

static bool take_ref(Parser *p, uint32_t *index) {
  if (!skip(p, "#")) return fail(p, "expected a reference");
  return take_u32(p, index) && skip_hint(p);
}

static bool take_opt(Parser *p, uint32_t *index) {
  *index = PLAN_NONE;
  return skip(p, "-") || take_ref(p, index);
}

static bool take_range(Parser *p, uint32_t *first, uint32_t *count) {
  uint32_t end;
  if (!skip(p, "[")) return fail(p, "expected a range");
  if (!take_u32(p, first)) return false;
  if (!skip(p, "..")) return fail(p, "expected \"..\"");
  if (!take_u32(p, &end)) return false;
  *count = end - *first;
  if (end < *first || !skip(p, ")")) return fail(p, "no range");
  return skip_hint(p);
}

/* ---- records: parse_TABLE reads the fields in the order of plan.def */

#define FIELD(f, take)                                                                             \
  if (!skip(p, " " #f "=")) return fail(p, "expected " #f "=");                                    \
  if (!take) return false;
#define TABLE(Type, table)                                                                         \
  static bool parse_##table(Parser *p, Type *record) {                                             \
    *record = (Type){0};
#define END(Type, table)                                                                           \
  return true;                                                                                     \
  }
#define U32(f)      FIELD(f, take_u32(p, &record->f))
#define I32(f)      FIELD(f, take_i32(p, &record->f))
#define U64(f)      FIELD(f, take_unsigned(p, UINT64_MAX, &record->f))
#define I64(f)      FIELD(f, take_i64(p, &record->f))
#define F64(f)      FIELD(f, take_real(p, &record->f))
#define STR(f)      FIELD(f, take_string(p, &record->f))
#define ENUM(f, e)  FIELD(f, take_name(p, e##_names, e##_COUNT, "", &record->f))
#define REF(f, t)   FIELD(f, take_ref(p, &record->f))
#define OPT(f, t)   FIELD(f, take_opt(p, &record->f))
#define RANGE(f, t) FIELD(f, take_range(p, &record->f##_first, &record->f##_count))
#define FLAGS(f)    FIELD(f, take_flags(p, &record->f))
#define PAD(f)
#include "runtime/plan/plan.def"
#include "runtime/plan/plan_undef.h"
#undef FIELD

static bool parse_ints(Parser *p, int64_t *value) {
  return (skip(p, " ") || fail(p, "expected a number")) && take_i64(p, value);
}

static bool parse_reals(Parser *p, double *value) {
  return (skip(p, " ") || fail(p, "expected a number")) && take_real(p, value);
}

static bool parse_strings(Parser *p, char *to) {
  size_t length;
  return (skip(p, " ") || fail(p, "expected a string")) &&
         take_quoted(p, to, (size_t)(p->strings + p->strings_count - to), &length);
}

enum {
#define PLAN_T(Type, table) TABLE_##table,
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
      TABLE_COUNT
};

static const char *const table_names[TABLE_COUNT] = {
#define PLAN_T(Type, table) #table,
    PLAN_TABLES(PLAN_T)
#undef PLAN_T
};

/* "calls[12]" -> which table, which index. */
static bool take_place(Parser *p, uint32_t *table, uint32_t *index) {
  if (!take_name(p, table_names, TABLE_COUNT, "[", table)) return false;
  if (!skip(p, "[")) return fail(p, "expected an index");
  if (!take_u32(p, index)) return false;
  return skip(p, "]") || fail(p, "expected \"]\"");
}

/* Counts the records of all tables: they are in order and complete. */
static bool count_records(Parser *p, uint32_t counts[TABLE_COUNT]) {
  for (; next_line(p); end_line(p)) {
    uint32_t table = 0, index = 0;
    size_t length = 0;
    if (!take_place(p, &table, &index)) return false;
    if (index != counts[table]) return fail(p, "out of order");
    if (table == TABLE_strings && (!skip(p, " ") || !take_quoted(p, NULL, 0, &length)))
      return fail(p, "expected a quoted string");
    if (length >= UINT32_MAX - counts[table]) return fail(p, "too many");
    counts[table] += (uint32_t)length + 1;
    p->at = p->end;
  }
  return true;
}

/* Points every table into one block. */
static bool allocate(Plan *plan, const uint32_t counts[TABLE_COUNT]) {
  size_t total = 0;
#define PLAN_T(Type, table)                                                                        \
  total += ((size_t)counts[TABLE_##table] * sizeof(Type) + 7) & ~(size_t)7;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  char *block = malloc(total + 1);
  if (block == NULL) return false;
  plan->mapped = block;
#define PLAN_T(Type, name)                                                                         \
  plan->name = (Type *)(void *)block;                                                              \
  plan->name##_count = counts[TABLE_##name];                                                       \
  block += ((size_t)counts[TABLE_##name] * sizeof(Type) + 7) & ~(size_t)7;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  return true;
}

/* Tables are const except while they are filled. */
#define WRITABLE(Type, table) ((Type *)(uintptr_t)plan->table)

static bool fill_line(Parser *p, Plan *plan, bool strings) {
  uint32_t table = 0, index = 0;
  if (!take_place(p, &table, &index)) return false;
  if ((table == TABLE_strings) != strings) {
    p->at = p->end;
    return true;
  }
  bool filled = false;
  switch (table) {
#define PLAN_T(Type, name)                                                                         \
  case TABLE_##name: filled = parse_##name(p, WRITABLE(Type, name) + index); break;
    PLAN_TABLES(PLAN_T)
#undef PLAN_T
  default: break;
  }
  return filled && (p->at == p->end || fail(p, "too much"));
}

static bool begin_plan(Parser *p, const char *text, size_t text_bytes) {
  begin_text(p, text, text_bytes);
  uint32_t version;
  if (!next_line(p) || !skip(p, "lockstep plan ")) return fail(p, "not a plan's text");
  if (!take_u32(p, &version)) return false;
  if (version != PLAN_VERSION || p->at != p->end) return fail(p, "another plan format");
  end_line(p);
  return true;
}

static bool fill(Parser *p, Plan *plan, const char *text, size_t text_bytes, bool strings) {
  if (!begin_plan(p, text, text_bytes)) return false;
  for (; next_line(p); end_line(p))
    if (!fill_line(p, plan, strings)) return false;
  return true;
}

static bool parse(Parser *p, Plan *plan, const char *text, size_t text_bytes) {
  uint32_t counts[TABLE_COUNT] = {0};
  if (!begin_plan(p, text, text_bytes) || !count_records(p, counts)) return false;
  p->scratch_bytes = text_bytes + 1;
  p->scratch = malloc(p->scratch_bytes);
  if (p->scratch == NULL || !allocate(plan, counts)) return plan_refuse(p->why, "out of memory");
  p->strings = plan->strings;
  p->strings_count = plan->strings_count;
  if (!fill(p, plan, text, text_bytes, true)) return false;
  if (!plan_names_begin(&p->names, plan->strings, plan->strings_count))
    return plan_refuse(p->why, "out of memory");
  return fill(p, plan, text, text_bytes, false) && plan_check(plan, p->why);
}

bool plan_parse(Plan *plan, const char *text, size_t text_bytes, char why[PLAN_WHY_BYTES]) {
  *plan = (Plan){0};
  Parser parser = {.why = why};
  bool parsed = parse(&parser, plan, text, text_bytes);
  plan_names_end(&parser.names);
  free(parser.scratch);
  if (parsed)
    plan->id = plan_compute_id(plan);
  else
    plan_close(plan);
  return parsed;
}
