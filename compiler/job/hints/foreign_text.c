/* foreign_text.c -- letters that are not Lua's, and pieces of other languages written as Lua. */
#include <ctype.h>
#include <string.h>

#include "compiler/job/hints/foreign.h"

/* ---- letters */

typedef struct Letter {
  const char *utf8, *name, *plain; /* plain: what is meant, "" nothing at all */
} Letter;

static const Letter quotes[] = {{"\u201c", "a typographic quote", "\u201d"},
                                {"\u201d", "a typographic quote", "\u201d"},
                                {"\u201e", "a typographic quote", "\u201c"},
                                {"\u201f", "a typographic quote", "\u201d"},
                                {"\u2018", "a typographic quote", "\u2019"},
                                {"\u2019", "a typographic quote", "\u2019"},
                                {"\u201a", "a typographic quote", "\u2018"},
                                {"\u00ab", "a typographic quote", "\u00bb"},
                                {"\u00bb", "a typographic quote", "\u00ab"},
                                {"\u2039", "a typographic quote", "\u203a"},
                                {"\uff02", "a full-width quote", "\uff02"},
                                {"\uff07", "a full-width quote", "\uff07"},
                                {"\u00b4", "an accent", "\u00b4"}};

static const Letter signs[] = {{"\u2212", "a typographic minus sign", "-"},
                               {"\u2013", "a dash", "-"},
                               {"\u2014", "a long dash", "--"},
                               {"\u2010", "a typographic hyphen", "-"},
                               {"\u2011", "a typographic hyphen", "-"},
                               {"\u00d7", "a multiplication sign", "*"},
                               {"\uff0c", "a full-width comma", ","},
                               {"\u3001", "a full-width comma", ","},
                               {"\uff1b", "a full-width semicolon", ","},
                               {"\uff1a", "a full-width colon", "="},
                               {"\uff1d", "a full-width equals sign", "="},
                               {"\uff08", "a full-width parenthesis", "("},
                               {"\uff09", "a full-width parenthesis", ")"},
                               {"\uff5b", "a full-width brace", "{"},
                               {"\uff5d", "a full-width brace", "}"},
                               {"\u2026", "an ellipsis", ""}};

static const Letter invisibles[] = {{"\u00a0", "no-break space", " "},
                                    {"\u202f", "narrow no-break space", " "},
                                    {"\u2009", "thin space", " "},
                                    {"\u3000", "full-width space", " "},
                                    {"\u2003", "em space", " "},
                                    {"\u200b", "zero-width space", ""},
                                    {"\u200c", "zero-width non-joiner", ""},
                                    {"\u200d", "zero-width joiner", ""},
                                    {"\u2060", "word joiner", ""},
                                    {"\ufeff", "byte-order mark", ""}};

static const Letter *find_letter(const Letter *letters, size_t count, const char *at) {
  for (size_t i = 0; i < count; i++)
    if (strncmp(letters[i].utf8, at, strlen(letters[i].utf8)) == 0) return &letters[i];
  return NULL;
}
#define FIND(letters, at) find_letter(letters, sizeof(letters) / sizeof *(letters), at)

static int32_t letter_bytes(const char *at) {
  int32_t length = 1;
  while (((unsigned char)at[length] & 0xc0) == 0x80)
    length++;
  return length;
}

/* The quoted text as it should be: up to the next quote of any such kind on the line. */
static const char *straight_text(Arena *arena, const char *at, const char *line_end,
                                 int32_t *length) {
  const char *start = at + letter_bytes(at);
  for (const char *p = start; p < line_end; p++) {
    bool is_plain = *p == '"' || *p == '\'';
    if (!is_plain && !FIND(quotes, p)) continue;
    *length = (int32_t)(p - at) + (is_plain ? 1 : letter_bytes(p));
    return arena_printf(arena, "\"%.*s\"", (int)(p - start), start);
  }
  return NULL;
}

/* The number, or the comment, that holds a typographic sign. */
static const char *plain_word(Arena *arena, const char *line, const char *at, int32_t bytes,
                              const char *plain) {
  const char *from = at, *end = at + bytes;
  while (from > line && (isalnum((unsigned char)from[-1]) || from[-1] == '.'))
    from--;
  while (isalnum((unsigned char)*end) || *end == '.')
    end++;
  return arena_printf(arena, "%.*s%s%.*s", (int)(at - from), from, plain, (int)(end - at - bytes),
                      at + bytes);
}

bool foreign_letter(Arena *arena, const char *line, const char *at, int32_t *length,
                    Foreign *found) {
  const char *line_end = at + strcspn(at, "\r\n");
  if (text_find_bad(at, line_end) == at) return false;
  *length = letter_bytes(at);
  const char *shown = arena_copy_n(arena, at, (size_t)*length);
  const Letter *letter = FIND(quotes, at);
  found->fix = NULL;
  if (letter) {
    found->message = arena_printf(arena, "%s is %s; text is written in straight quotes: \"gpt2\"",
                                  shown, letter->name);
    found->fix = straight_text(arena, at, line_end, length);
    return true;
  }
  letter = FIND(signs, at);
  if (letter) {
    while (*letter->plain == '-' && strncmp(at + *length, letter->utf8, strlen(letter->utf8)) == 0)
      *length += letter_bytes(at + *length); /* a comment of dashes */
    found->message = arena_printf(arena, "%s is %s; Lua takes only the plain one on the keyboard",
                                  shown, letter->name);
    found->fix = plain_word(arena, line, at, *length, letter->plain);
    return true;
  }
  letter = FIND(invisibles, at);
  if (letter) {
    found->message = arena_printf(
        arena, "there is an invisible character here (%s); delete it, or write a plain blank",
        letter->name);
    return true;
  }
  found->message = arena_printf(
      arena, "%s is outside any text; names have a-z A-Z 0-9 _, a text has quotes", shown);
  return true;
}

/* ---- other languages as Lua */

static bool is_word_byte(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static const char *after_text(const char *p, const char *end) {
  char quote = *p++;
  while (p < end && *p != quote)
    p += *p == '\\' && p + 1 < end ? 2 : 1;
  return p < end ? p + 1 : end;
}

static const char *lua_word(const char *word, size_t length) {
  static const char *const words[][2] = {
      {"True", "true"}, {"False", "false"}, {"None", "nil"}, {"null", "nil"}, {"NULL", "nil"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i][0]) == length && memcmp(words[i][0], word, length) == 0) return words[i][1];
  return NULL;
}

/* A text or word at `p` with a colon after it is a key; anything else is copied as it is. */
static const char *take_key(Arena *arena, const char **p, const char *end) {
  const char *from = *p, *after = from;
  bool is_text = *from == '"' || *from == '\'';
  if (is_text) after = after_text(from, end);
  while (!is_text && after < end && is_word_byte(*after))
    after++;
  const char *colon = after + strspn(after, " \t");
  size_t length = (size_t)(after - from);
  *p = after;
  if (colon >= end || *colon != ':' || colon[1] == ':') {
    const char *word = is_text ? NULL : lua_word(from, length);
    return word ? word : arena_copy_n(arena, from, length);
  }
  *p = colon + 1 + (colon[1] == '=');
  if (!is_text) return arena_printf(arena, "%.*s =", (int)length, from);
  size_t plain = 1;
  while (is_word_byte(from[plain]))
    plain++;
  bool is_name = plain + 1 == length && !isdigit((unsigned char)from[1]) && length > 2;
  return is_name ? arena_printf(arena, "%.*s =", (int)length - 2, from + 1)
                 : arena_printf(arena, "[%.*s] =", (int)length, from);
}

const char *foreign_as_lua(Arena *arena, const char *from, const char *end) {
  const char *out = "";
  for (const char *p = from; p < end;) {
    if (*p == '"' || *p == '\'' || is_word_byte(*p)) {
      const char *key = take_key(arena, &p, end);
      out = arena_printf(arena, "%s%s", out, key);
      continue;
    }
    const char letter[2] = {*p, 0};
    out = arena_printf(arena, "%s%s", out, *p == '[' ? "{" : *p == ']' ? "}" : letter);
    p++;
  }
  return out;
}

/* End of the value at `at`, or NULL when the line ends inside of it. */
static const char *end_of_value(const char *at) {
  const char *line_end = at + strcspn(at, "\r\n");
  int32_t depth = 0;
  for (const char *p = at; p < line_end;) {
    if (*p == '"' || *p == '\'') {
      p = after_text(p, line_end);
      continue;
    }
    if (depth == 0 && (*p == ',' || *p == '}' || *p == ')' || *p == ']')) return p;
    if (p[0] == '-' && p[1] == '-') return depth == 0 ? p : NULL;
    if (p[0] == '#' || (p[0] == '/' && p[1] == '/')) return depth == 0 ? p : NULL;
    depth += *p == '{' || *p == '[' || *p == '(';
    depth -= *p == '}' || *p == ']' || *p == ')';
    p++;
  }
  return depth == 0 ? line_end : NULL;
}

const char *foreign_value(Arena *arena, const char *at) {
  at += strspn(at, " \t");
  const char *end = end_of_value(at);
  while (end && end > at && isspace((unsigned char)end[-1]))
    end--;
  if (!end || end == at) return NULL;
  bool is_written = strchr("{[(\"'-.", *at) || isdigit((unsigned char)*at);
  size_t length = (size_t)(end - at);
  bool is_flag =
      (length == 4 && memcmp(at, "true", 4) == 0) || (length == 5 && memcmp(at, "false", 5) == 0);
  if (isdigit((unsigned char)*at) && memchr(at, ' ', length)) is_written = false; /* 8 sequences */
  if (is_written || is_flag || lua_word(at, length)) return foreign_as_lua(arena, at, end);
  return arena_printf(arena, "\"%.*s\"", (int)length, at);
}
