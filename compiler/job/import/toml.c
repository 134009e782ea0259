/* toml.c -- TOML 1.0 without dates: tables, arrays of tables, dotted keys, all kinds of texts and
 * numbers. */
#include <stdlib.h>
#include <string.h>

#include "compiler/job/import/import.h"

typedef struct Toml {
  Import *im;
  const char *at, *end, *line_start;
  int32_t line, depth;
} Toml;

static Span place(const Toml *t) {
  return (Span){
      .file = t->im->file, .line = t->line, .column = (int32_t)(t->at - t->line_start) + 1};
}

static bool refuse(const Toml *t, const char *what) {
  return error_at(t->im->c, place(t), "import-syntax", "%s", what);
}

static bool is_end(const Toml *t) {
  return t->at >= t->end;
}

static void step(Toml *t) {
  if (*t->at == '\n') {
    t->line++;
    t->line_start = t->at + 1;
  }
  t->at++;
}

static void skip_blanks(Toml *t) {
  while (!is_end(t) && strchr(" \t\r", *t->at))
    t->at++;
}

/* Also comments and line ends. */
static void skip_lines(Toml *t) {
  for (;;) {
    skip_blanks(t);
    if (!is_end(t) && *t->at == '#')
      while (!is_end(t) && *t->at != '\n')
        t->at++;
    if (is_end(t) || *t->at != '\n') return;
    step(t);
  }
}

static size_t put_utf8(char *out, uint32_t letter) {
  if (letter < 0x80) return out[0] = (char)letter, 1;
  int more = letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;
  static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
  out[0] = (char)(first[more] | letter >> (6 * more));
  for (int i = 1; i <= more; i++)
    out[i] = (char)(0x80 | (letter >> (6 * (more - i)) & 63));
  return (size_t)more + 1;
}

static bool read_escape(Toml *t, char *out, size_t *count) {
  static const char from[] = "\"\\bfnrt", to[] = "\"\\\b\f\n\r\t";
  const char *known = *t->at ? strchr(from, *t->at) : NULL;
  if (known) {
    out[(*count)++] = to[known - from];
    t->at++;
    return true;
  }
  size_t digits = *t->at == 'u' ? 4 : *t->at == 'U' ? 8 : 0;
  if (digits == 0 || strspn(t->at + 1, "0123456789abcdefABCDEF") < digits)
    return refuse(t, "this escape is not TOML's");
  char hex[9] = {0};
  memcpy(hex, t->at + 1, digits);
  unsigned long letter = strtoul(hex, NULL, 16);
  if (letter == 0 || letter > 0x10ffff || (letter >= 0xd800 && letter < 0xe000))
    return refuse(t, "this is no letter");
  *count += put_utf8(out + *count, (uint32_t)letter);
  t->at += digits + 1;
  return true;
}

/* "text", 'text' or three of either quote. */
static const char *read_text(Toml *t) {
  const Toml start = *t;
  char quote = *t->at;
  bool is_long = t->at[1] == quote && t->at[2] == quote;
  t->at += is_long ? 3 : 1;
  if (is_long && !is_end(t) && *t->at == '\n') step(t);
  const char *from = t->at, *close = from;
  while (close < t->end && (is_long || *close != '\n') &&
         !(*close == quote && (!is_long || (close[1] == quote && close[2] == quote))))
    close += *close == '\\' && quote == '"' && close + 1 < t->end ? 2 : 1;
  if (close >= t->end || *close != quote) {
    refuse(&start, "this text does not end");
    return NULL;
  }
  char *out = arena_alloc(t->im->c->arena, (size_t)(close - from) + 8);
  size_t count = 0;
  while (t->at < close) {
    if (*t->at == '\\' && quote == '"') {
      t->at++;
      if (is_long && strchr(" \t\r\n", *t->at)) {
        while (t->at < close && strchr(" \t\r\n", *t->at))
          step(t);
      } else if (!read_escape(t, out, &count)) {
        return NULL;
      }
    } else {
      out[count++] = *t->at;
      step(t);
    }
  }
  t->at = close + (is_long ? 3 : 1);
  return out;
}

/* a.b."c d" -> "a.b.c d" after `key`. */
static const char *read_key(Toml *t, const char *key) {
  Arena *arena = t->im->c->arena;
  for (;;) {
    skip_blanks(t);
    const char *name = NULL;
    size_t width =
        strspn(t->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (!is_end(t) && (*t->at == '"' || *t->at == '\'')) {
      if (!(name = read_text(t))) return NULL;
    } else if (width > 0) {
      name = arena_copy_n(arena, t->at, width);
      t->at += width;
    } else {
      refuse(t, "a key is missing here");
      return NULL;
    }
    if (strlen(key) + strlen(name) > PATH_MOST) {
      refuse(t, "a key of more than 1,024 bytes");
      return NULL;
    }
    key = *key ? arena_printf(arena, "%s.%s", key, name) : name;
    skip_blanks(t);
    if (is_end(t) || *t->at != '.') return key;
    t->at++;
  }
}

static bool whole_number(const char *text, double *number) {
  static const struct {
    const char *prefix, *digits;
    int base;
  } bases[] = {{"0x", "0123456789abcdefABCDEF_", 16}, {"0o", "01234567_", 8}, {"0b", "01_", 2}};
  for (int i = 0; i < 3; i++) {
    if (strncmp(text, bases[i].prefix, 2) != 0 || !text[2] ||
        strspn(text + 2, bases[i].digits) != strlen(text + 2))
      continue;
    *number = 0;
    for (const char *p = text + 2; *p; p++)
      if (*p != '_')
        *number = *number * bases[i].base +
                  (double)(strchr("0123456789abcdef", *p | 32) - "0123456789abcdef");
    return true;
  }
  return false;
}

static bool read_scalar(Toml *t, LeafKind *kind, const char **text, double *number) {
  *kind = LEAF_TEXT;
  if (*t->at == '"' || *t->at == '\'') return (*text = read_text(t)) != NULL;
  size_t width = 0;
  while (t->at + width < t->end && !strchr(" \t\r\n,]}#", t->at[width]))
    width++;
  if (width == 0 || width > 60) return refuse(t, "a value is missing here");
  *text = arena_copy_n(t->im->c->arena, t->at, width);
  bool is_date =
      width >= 8 && ((*text)[2] == ':' || ((*text)[4] == '-' && strspn(*text, "0123456789") == 4));
  if (is_date) return refuse(t, "dates are not read");
  if (strcmp(*text, "true") == 0 || strcmp(*text, "false") == 0) {
    *kind = LEAF_FLAG;
    *number = **text == 't';
  } else if (text_number(*text, number) || whole_number(*text, number)) {
    *kind = LEAF_NUMBER;
  } else {
    return refuse(t, arena_printf(t->im->c->arena, "'%s' is no value: a text has quotes",
                                  text_plain(t->im->c->arena, *text)));
  }
  t->at += width;
  return true;
}

static bool read_value(Toml *t, const char *key, Span at);

static bool read_inline(Toml *t, const char *key, Span at) {
  int32_t count = 0;
  t->at++;
  for (;; count++) {
    skip_blanks(t);
    if (!is_end(t) && *t->at == '}') break;
    Span key_at = place(t);
    const char *path = read_key(t, key);
    if (!path || !key_once(t->im, path, key_at)) return false;
    if (is_end(t) || *t->at != '=') return refuse(t, "a = is missing here");
    t->at++;
    skip_blanks(t);
    if (!read_value(t, path, key_at)) return false;
    skip_blanks(t);
    if (!is_end(t) && *t->at == ',')
      t->at++;
    else if (is_end(t) || *t->at != '}')
      return refuse(t, "a comma or } is missing here");
  }
  t->at++;
  return count > 0 || leaf_add(t->im, key, LEAF_EMPTY, "{ }", at) != NULL;
}

static bool read_array(Toml *t, const char *key, Span at) {
  Arena *arena = t->im->c->arena;
  Texts items = {0};
  const char *text = "";
  int32_t tables = 0;
  t->at++;
  for (int32_t count = 0;; count++) {
    skip_lines(t);
    if (is_end(t)) return error_at(t->im->c, at, "import-syntax", "this [ is not closed");
    if (*t->at == ']') break;
    if (*t->at == '{' || *t->at == '[') {
      const char *path = arena_printf(arena, "%s.%d", key, count);
      if (strlen(path) > PATH_MOST || count > KEYS_MOST) return refuse(t, "more than 10,000 items");
      if (!read_value(t, path, place(t))) return false;
      tables++;
    } else {
      LeafKind kind = LEAF_TEXT;
      const char *item = "";
      double number = 0;
      if (!read_scalar(t, &kind, &item, &number)) return false;
      VEC_PUSH(arena, &items.list, item);
      if (strlen(text) < 200) text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", item);
    }
    skip_lines(t);
    if (!is_end(t) && *t->at == ',')
      t->at++;
    else if (!is_end(t) && *t->at != ']')
      return refuse(t, "a comma is missing here");
  }
  t->at++;
  if (tables > 0 && items.list.count == 0) return true;
  Leaf *leaf = leaf_add(t->im, key, LEAF_LIST, arena_printf(arena, "[%s]", text), at);
  if (leaf) leaf->items = items;
  return leaf != NULL;
}

static bool read_value(Toml *t, const char *key, Span at) {
  if (is_end(t)) return refuse(t, "a value is missing here");
  if (*t->at == '{' || *t->at == '[') {
    if (t->depth == DEPTH_MOST) return refuse(t, "more than 64 tables deep");
    t->depth++;
    bool is_good = *t->at == '{' ? read_inline(t, key, at) : read_array(t, key, at);
    t->depth--;
    return is_good;
  }
  LeafKind kind = LEAF_TEXT;
  const char *text = "";
  double number = 0;
  if (!read_scalar(t, &kind, &text, &number)) return false;
  Leaf *leaf = leaf_add(t->im, key, kind, text, at);
  if (leaf) leaf->number = number;
  return leaf != NULL;
}

/* [a.b], or [[a.b]], whose tables are numbered. */
static const char *read_header(Toml *t, int32_t *tables) {
  Span at = place(t);
  bool is_array = t->at[1] == '[';
  t->at += is_array ? 2 : 1;
  const char *path = read_key(t, "");
  if (!path) return NULL;
  if (is_end(t) || *t->at != ']' || (is_array && t->at[1] != ']')) {
    refuse(t, "a ] is missing here");
    return NULL;
  }
  t->at += is_array ? 2 : 1;
  if (is_array) return arena_printf(t->im->c->arena, "%s.%d", path, (*tables)++);
  return key_once(t->im, arena_printf(t->im->c->arena, "[%s]", path), at) ? path : NULL;
}

bool read_toml(Import *im, const char *text, size_t size) {
  Toml t = {.im = im, .at = text, .end = text + size, .line_start = text, .line = 1};
  const char *table = "";
  int32_t tables = 0;
  for (skip_lines(&t); !is_end(&t); skip_lines(&t)) {
    Span at = place(&t);
    if (*t.at == '[') {
      if (!(table = read_header(&t, &tables))) return false;
    } else {
      const char *path = read_key(&t, table);
      if (!path || !key_once(im, path, at)) return false;
      if (is_end(&t) || *t.at != '=') return refuse(&t, "a = is missing here");
      t.at++;
      skip_blanks(&t);
      if (!read_value(&t, path, at)) return false;
    }
    skip_blanks(&t);
    if (!is_end(&t) && *t.at != '\n' && *t.at != '#')
      return refuse(&t, "a line ends after its value");
  }
  return true;
}
