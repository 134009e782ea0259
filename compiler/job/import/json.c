/* json.c -- JSON with comments and trailing commas, as DeepSpeed reads it. Libraries keep neither
 * places nor keys that are twice. */
#include <string.h>

#include "compiler/job/import/import.h"

typedef struct Json {
  Import *im;
  const char *at, *end, *line_start;
  int32_t line, depth;
} Json;

static Span place(const Json *j) {
  return (Span){
      .file = j->im->file, .line = j->line, .column = (int32_t)(j->at - j->line_start) + 1};
}

static bool refuse(const Json *j, const char *what) {
  return error_at(j->im->c, place(j), "import-syntax", "%s", what);
}

static void step(Json *j) {
  if (*j->at == '\n') {
    j->line++;
    j->line_start = j->at + 1;
  }
  j->at++;
}

/* Blanks and comments. False: a comment does not end. */
static bool skip(Json *j) {
  while (j->at < j->end) {
    if (strchr(" \t\r\n", *j->at)) {
      step(j);
    } else if (*j->at == '#' || (j->at[0] == '/' && j->at[1] == '/')) {
      while (j->at < j->end && *j->at != '\n')
        step(j);
    } else if (j->at[0] == '/' && j->at[1] == '*') {
      const Json start = *j;
      while (j->at < j->end && !(j->at[0] == '*' && j->at[1] == '/'))
        step(j);
      if (j->at >= j->end) return refuse(&start, "this comment does not end");
      j->at += 2;
    } else {
      break;
    }
  }
  return true;
}

static int32_t hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

static size_t put_letter(char *out, uint32_t letter) {
  if (letter < 0x80) return out[0] = (char)letter, 1;
  if (letter < 0x800) {
    out[0] = (char)(0xc0 | letter >> 6);
    out[1] = (char)(0x80 | (letter & 63));
    return 2;
  }
  out[0] = (char)(0xe0 | letter >> 12);
  out[1] = (char)(0x80 | (letter >> 6 & 63));
  out[2] = (char)(0x80 | (letter & 63));
  return 3;
}

/* After the backslash. A surrogate, of letters beyond the first plane, becomes "?": no key has one.
 */
static bool read_escape(Json *j, char *out, size_t *count) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char *known = *j->at ? strchr(from, *j->at) : NULL;
  if (known) {
    out[(*count)++] = to[known - from];
    j->at++;
    return true;
  }
  if (*j->at != 'u') return refuse(j, "this escape is not JSON's");
  uint32_t letter = 0;
  for (int i = 1; i <= 4; i++) {
    int32_t digit = hex_digit(j->at[i]);
    if (digit < 0) return refuse(j, "\\u wants four hexadecimal digits");
    letter = letter * 16 + (uint32_t)digit;
  }
  if (letter == 0) return refuse(j, "a text holds no zero byte");
  if (letter >= 0xd800 && letter < 0xe000) letter = '?';
  *count += put_letter(out + *count, letter);
  j->at += 5;
  return true;
}

static const char *read_text(Json *j) {
  Json start = *j;
  const char *close = ++j->at;
  while (close < j->end && *close != '"' && *close != '\n')
    close += *close == '\\' && close + 1 < j->end ? 2 : 1;
  char *out = arena_alloc(j->im->c->arena, (size_t)(close - j->at) + 4);
  size_t count = 0;
  while (j->at < j->end && *j->at != '"') {
    if (*j->at == '\n') break;
    if (*j->at == '\\') {
      j->at++;
      if (!read_escape(j, out, &count)) return NULL;
    } else {
      out[count++] = *j->at++;
    }
  }
  if (j->at >= j->end || *j->at != '"') {
    refuse(&start, "this text does not end on its line");
    return NULL;
  }
  j->at++;
  return out;
}

/* true, false, null or a number. */
static bool read_word(Json *j, LeafKind *kind, const char **text, double *number) {
  size_t width = 0;
  while (j->at + width < j->end && !strchr(" \t\r\n,:]}[{\"#/", j->at[width]))
    width++;
  if (width == 0) return refuse(j, "a value is missing here");
  if (width > 60) return refuse(j, "this is no value: a text has quotes");
  *text = arena_copy_n(j->im->c->arena, j->at, width);
  if (strcmp(*text, "true") == 0 || strcmp(*text, "false") == 0) {
    *kind = LEAF_FLAG;
    *number = **text == 't';
  } else if (strcmp(*text, "null") == 0) {
    *kind = LEAF_NULL;
  } else if (**text != '+' && !strchr(*text, '_') && text_number(*text, number)) {
    *kind = LEAF_NUMBER;
  } else {
    static const char *const python[][2] = {
        {"True", "true"}, {"False", "false"}, {"None", "null"}, {"yes", "true"}, {"no", "false"}};
    const char *advice = "a text has quotes";
    for (size_t i = 0; i < sizeof python / sizeof *python; i++)
      if (strcmp(*text, python[i][0]) == 0)
        advice = arena_printf(j->im->c->arena, "write %s", python[i][1]);
    return refuse(j, arena_printf(j->im->c->arena, "'%s' is no value: %s",
                                  text_plain(j->im->c->arena, *text), advice));
  }
  j->at += width;
  return true;
}

static bool read_value(Json *j, const char *key, Span at);

static const char *inner(Json *j, const char *key, const char *name) {
  if (strlen(key) + strlen(name) > PATH_MOST) {
    refuse(j, "a key of more than 1,024 bytes");
    return NULL;
  }
  return *key ? arena_printf(j->im->c->arena, "%s.%s", key, name) : name;
}

static bool read_table(Json *j, const char *key, Span at) {
  int32_t count = 0;
  j->at++;
  for (;;) {
    if (!skip(j)) return false;
    if (j->at >= j->end) return error_at(j->im->c, at, "import-syntax", "this { is not closed");
    if (*j->at == '}') break;
    if (*j->at != '"') return refuse(j, "a key in double quotes is missing here");
    Span key_at = place(j);
    const char *name = read_text(j);
    const char *path = name ? inner(j, key, name) : NULL;
    if (!path || !key_once(j->im, path, key_at) || !skip(j)) return false;
    if (j->at >= j->end || *j->at != ':') return refuse(j, "a : is missing here");
    j->at++;
    if (!skip(j) || !read_value(j, path, key_at) || !skip(j)) return false;
    count++;
    if (j->at < j->end && *j->at == ',')
      j->at++;
    else if (j->at < j->end && *j->at != '}')
      return refuse(j, "a comma is missing here");
  }
  j->at++;
  return count > 0 || !*key || leaf_add(j->im, key, LEAF_EMPTY, "{ }", at) != NULL;
}

/* A list of words and numbers is one leaf; each table in it is one by its number. */
static bool read_list(Json *j, const char *key, Span at) {
  Arena *arena = j->im->c->arena;
  Texts items = {0};
  const char *text = "";
  int32_t count = 0, tables = 0;
  j->at++;
  for (;; count++) {
    if (!skip(j)) return false;
    if (j->at >= j->end) return error_at(j->im->c, at, "import-syntax", "this [ is not closed");
    if (*j->at == ']') break;
    if (*j->at == '{' || *j->at == '[') {
      const char *path = inner(j, key, arena_printf(arena, "%d", count));
      if (!path || !read_value(j, path, place(j))) return false;
      tables++;
    } else {
      LeafKind kind = LEAF_TEXT;
      const char *item = "";
      double number = 0;
      if (*j->at == '"' ? (item = read_text(j)) == NULL : !read_word(j, &kind, &item, &number))
        return false;
      VEC_PUSH(arena, &items.list, item);
      if (strlen(text) < 200) text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", item);
    }
    if (!skip(j)) return false;
    if (j->at < j->end && *j->at == ',')
      j->at++;
    else if (j->at < j->end && *j->at != ']')
      return refuse(j, "a comma is missing here");
    if (count > KEYS_MOST) return refuse(j, "more than 10,000 items");
  }
  j->at++;
  if (tables > 0 && items.list.count == 0) return true;
  Leaf *leaf = leaf_add(j->im, *key ? key : "[]", LEAF_LIST, arena_printf(arena, "[%s]", text), at);
  if (leaf) leaf->items = items;
  return leaf != NULL;
}

static bool read_value(Json *j, const char *key, Span at) {
  if (j->at >= j->end) return refuse(j, "a value is missing here");
  if (*j->at == '{' || *j->at == '[') {
    if (j->depth == DEPTH_MOST) return refuse(j, "more than 64 tables deep");
    j->depth++;
    bool is_good = *j->at == '{' ? read_table(j, key, at) : read_list(j, key, at);
    j->depth--;
    return is_good;
  }
  LeafKind kind = LEAF_TEXT;
  const char *text = "";
  double number = 0;
  if (*j->at == '"' ? (text = read_text(j)) == NULL : !read_word(j, &kind, &text, &number))
    return false;
  Leaf *leaf = leaf_add(j->im, *key ? key : "value", kind, text, at);
  if (leaf) leaf->number = number;
  return leaf != NULL;
}

bool read_json(Import *im, const char *text, size_t size) {
  Json j = {.im = im, .at = text, .end = text + size, .line_start = text, .line = 1};
  if (!skip(&j)) return false;
  if (j.at >= j.end || *j.at != '{') return refuse(&j, "JSON of a configuration begins with {");
  if (!read_value(&j, "", place(&j)) || !skip(&j)) return false;
  return j.at == j.end || refuse(&j, "more than one value");
}
