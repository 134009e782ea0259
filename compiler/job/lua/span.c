/* span.c -- lexes Lua just far enough: comments, texts, names, numbers, brackets. The file has
 * already been run, so its syntax is right; whatever a table holds besides plain values is skipped
 * by counting brackets. */
#include "compiler/job/lua/span.h"

#include <ctype.h>
#include <string.h>

enum { DEEPEST_TABLE = 32, REPEATED_CHECK_MAX = 4096 };

typedef struct Token {
  const char *at;
  int32_t length, line, column;
} Token;

typedef struct Lexer {
  const char *at, *line_start;
  int32_t line;
} Lexer;

typedef struct SpanReader {
  Arena *arena;
  SpanMap *map;
  const Token *tokens; /* ends with several empty ones */
} SpanReader;

/* ---- tokens */

static bool is_name_byte(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* "[[" or "[==[" at `p`: its length, else 0. */
static int32_t long_bracket(const char *p) {
  if (*p != '[') return 0;
  size_t equals = strspn(p + 1, "=");
  return p[1 + equals] == '[' ? (int32_t)equals + 2 : 0;
}

static const char *after_long_bracket(const char *p, int32_t width) {
  for (p += width; *p; p++)
    if (*p == ']' && strspn(p + 1, "=") == (size_t)width - 2 && p[width - 1] == ']')
      return p + width;
  return p;
}

static const char *after_quoted(const char *p) {
  char quote = *p++;
  while (*p && *p != quote)
    p += *p == '\\' && p[1] ? 2 : 1;
  return *p ? p + 1 : p;
}

static const char *after_token(const char *p) {
  int32_t width = long_bracket(p);
  if (width > 0) return after_long_bracket(p, width);
  if (*p == '"' || *p == '\'') return after_quoted(p);
  if (is_name_byte(*p)) {
    bool is_number = isdigit((unsigned char)*p);
    while (is_name_byte(*p) || (is_number && *p == '.'))
      p++;
    return p;
  }
  if ((p[0] == '=' || p[0] == '~' || p[0] == '<' || p[0] == '>') && p[1] == '=') return p + 2;
  return p + 1;
}

static void advance(Lexer *lexer, const char *to) {
  for (; lexer->at < to; lexer->at++)
    if (*lexer->at == '\n') {
      lexer->line++;
      lexer->line_start = lexer->at + 1;
    }
}

static void skip_blank(Lexer *lexer) {
  for (;;) {
    const char *p = lexer->at;
    if (isspace((unsigned char)*p)) {
      advance(lexer, p + 1);
    } else if (p[0] == '-' && p[1] == '-') {
      int32_t width = long_bracket(p + 2);
      advance(lexer, width > 0 ? after_long_bracket(p + 2, width) : p + strcspn(p, "\n"));
    } else {
      return;
    }
  }
}

static const Token *lex(Arena *arena, const char *text) {
  VEC(Token) tokens = {0};
  Lexer lexer = {text, text, 1};
  for (skip_blank(&lexer); *lexer.at; skip_blank(&lexer)) {
    const char *end = after_token(lexer.at);
    VEC_PUSH(arena, &tokens,
             (Token){lexer.at, (int32_t)(end - lexer.at), lexer.line,
                     (int32_t)(lexer.at - lexer.line_start) + 1});
    advance(&lexer, end);
  }
  for (int i = 0; i < 4; i++)
    VEC_PUSH(arena, &tokens, (Token){lexer.at, 0, lexer.line, 1});
  return tokens.at;
}

static bool is(const Token *token, const char *text) {
  return token->length == (int32_t)strlen(text) && memcmp(token->at, text, strlen(text)) == 0;
}

static int32_t depth_change(const Token *token) {
  static const char *const opens[] = {"{", "(", "[", "function", "if", "do", "repeat"};
  static const char *const closes[] = {"}", ")", "]", "end", "until"};
  for (size_t i = 0; i < sizeof opens / sizeof *opens; i++)
    if (is(token, opens[i])) return 1;
  for (size_t i = 0; i < sizeof closes / sizeof *closes; i++)
    if (is(token, closes[i])) return -1;
  return 0;
}

/* ---- tables */

static Span span_of_token(const SpanReader *r, const Token *token) {
  return (Span){r->map->file, token->line, token->column, token->length > 0 ? token->length : 1};
}

static const char *unquoted(Arena *arena, const Token *token) {
  if (token->length >= 2 && (*token->at == '"' || *token->at == '\''))
    return arena_copy_n(arena, token->at + 1, (size_t)token->length - 2);
  return arena_copy_n(arena, token->at, (size_t)token->length);
}

static bool is_known(const SpanMap *map, const char *path) {
  if (map->keys.count > REPEATED_CHECK_MAX) return false;
  for (int32_t i = 0; i < map->keys.count; i++)
    if (strcmp(map->keys.at[i].path, path) == 0) return true;
  return false;
}

/* Index of the "," ";" or "}" that ends the value whose first token is tokens[i]; *last: its last
 * token. */
static int32_t end_of_value(const Token *tokens, int32_t i, int32_t *last) {
  *last = i;
  for (int32_t depth = 0; tokens[i].length > 0; i++) {
    bool ends = is(&tokens[i], ",") || is(&tokens[i], ";") || is(&tokens[i], "}");
    if (depth <= 0 && ends) break;
    depth += depth_change(&tokens[i]);
    *last = i;
  }
  return i;
}

/* tokens[i] is "{". Returns the index after its "}". */
static int32_t read_table(SpanReader *r, int32_t i, const char *path, int32_t depth) {
  const Token *t = r->tokens;
  int32_t items = 0;
  for (i++; t[i].length > 0 && !is(&t[i], "}");) {
    const Token *at = &t[i];
    const char *key;
    bool is_item = false;
    if (is(at, "[") && t[i + 1].length > 0 && is(&t[i + 2], "]")) {
      key = unquoted(r->arena, &t[i + 1]);
      i += t[i + 3].length > 0 ? 4 : 3;
    } else if (is_name_byte(*at->at) && is(&t[i + 1], "=")) {
      key = unquoted(r->arena, at);
      i += 2;
    } else {
      key = arena_printf(r->arena, "%d", ++items);
      is_item = true;
    }
    const char *full = *path ? arena_printf(r->arena, "%s.%s", path, key) : key;
    int32_t last, value = i;
    i = end_of_value(t, value, &last);
    PlacedKey placed = {full, span_of_token(r, at), span_of_token(r, &t[value]),
                        !is_item && is_known(r->map, full)};
    if (!is(&t[value], "{") && t[last].line == t[value].line)
      placed.value.length = t[last].column + t[last].length - t[value].column;
    VEC_PUSH(r->arena, &r->map->keys, placed);
    if (is(&t[value], "{") && depth < DEEPEST_TABLE) read_table(r, value, full, depth + 1);
    if (is(&t[i], ",") || is(&t[i], ";")) i++;
  }
  return i + 1;
}

SpanMap *span_map(Arena *arena, const char *file, const char *text, const char *constructor) {
  SpanMap *map = ARENA_NEW(arena, SpanMap);
  map->file = file;
  map->constructor = (Span){.file = file};
  SpanReader reader = {arena, map, lex(arena, text)};
  const Token *t = reader.tokens;
  for (int32_t i = 0; t[i].length > 0; i++) {
    if (!is(&t[i], constructor)) continue;
    int32_t open = is(&t[i + 1], "(") ? i + 2 : i + 1;
    if (!is(&t[open], "{")) continue;
    map->constructor = span_of_token(&reader, &t[i]);
    read_table(&reader, open, "", 0);
    break;
  }
  return map;
}

/* ---- looking up */

static const PlacedKey *find(const SpanMap *map, const char *path, size_t length) {
  const PlacedKey *found = NULL; /* the last one: so does Lua */
  for (int32_t i = 0; i < map->keys.count; i++) {
    const char *known = map->keys.at[i].path;
    if (strlen(known) == length && memcmp(known, path, length) == 0) found = &map->keys.at[i];
  }
  return found;
}

static Span lookup(const SpanMap *map, const char *path, bool of_value) {
  size_t length = strlen(path);
  const PlacedKey *found = find(map, path, length);
  if (found) return of_value ? found->value : found->key;
  while (length > 0) {
    while (length > 0 && path[length - 1] != '.')
      length--;
    if (length > 0) length--;
    found = length > 0 ? find(map, path, length) : NULL;
    if (found) return found->key;
  }
  return map->constructor;
}

Span span_of_key(const SpanMap *map, const char *path) {
  return lookup(map, path, false);
}

Span span_of_value(const SpanMap *map, const char *path) {
  return lookup(map, path, true);
}
