/* yaml.c -- YAML, by libyaml's events: maps, lists and scalars, without anchors and tags. */
#include <string.h>
#include <yaml.h>

#include "compiler/job/import/import.h"

typedef struct ImportYaml {
  Import *im;
  yaml_parser_t parser;
  yaml_event_t event;
  bool has_event;
  int32_t depth, count;
} ImportYaml;

static Span span_of(const ImportYaml *y, yaml_mark_t mark) {
  return (Span){
      .file = y->im->file, .line = (int32_t)mark.line + 1, .column = (int32_t)mark.column + 1};
}

static bool refuse(const ImportYaml *y, Span at, const char *what) {
  return error_at(y->im->c, at, "import-syntax", "%s", what);
}

static bool next(ImportYaml *y) {
  if (y->has_event) yaml_event_delete(&y->event);
  y->has_event = yaml_parser_parse(&y->parser, &y->event) != 0;
  if (!y->has_event)
    return refuse(y, span_of(y, y->parser.problem_mark),
                  arena_printf(y->im->c->arena, "this is not YAML: %s",
                               y->parser.problem ? y->parser.problem : "unreadable"));
  Span at = span_of(y, y->event.start_mark);
  if (y->count++ > 4 * KEYS_MOST) return refuse(y, at, "more than 10,000 keys");
  const yaml_event_t *event = &y->event;
  if (event->type == YAML_ALIAS_EVENT)
    return refuse(y, at, "aliases are not read: write the value itself");
  bool has_anchor =
      (event->type == YAML_SCALAR_EVENT && (event->data.scalar.anchor || event->data.scalar.tag)) ||
      (event->type == YAML_MAPPING_START_EVENT &&
       (event->data.mapping_start.anchor || event->data.mapping_start.tag)) ||
      (event->type == YAML_SEQUENCE_START_EVENT &&
       (event->data.sequence_start.anchor || event->data.sequence_start.tag));
  return !has_anchor || refuse(y, at, "anchors and tags are not read: write the value itself");
}

/* The kind of a scalar: only one without quotes is a number or a flag. */
static Leaf scalar(ImportYaml *y) {
  Leaf leaf = {.kind = LEAF_TEXT};
  leaf.text = arena_copy(y->im->c->arena, (const char *)y->event.data.scalar.value);
  bool is_plain = y->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (is_plain && !*leaf.text) leaf.kind = LEAF_NULL;
  if (is_plain) leaf_guess(&leaf);
  return leaf;
}

static bool read_node(ImportYaml *y, const char *key, Span at);

static bool read_map(ImportYaml *y, const char *key, Span at) {
  Arena *arena = y->im->c->arena;
  int32_t count = 0;
  for (;; count++) {
    if (!next(y)) return false;
    if (y->event.type == YAML_MAPPING_END_EVENT) break;
    Span key_at = span_of(y, y->event.start_mark);
    if (y->event.type != YAML_SCALAR_EVENT) return refuse(y, key_at, "a key is a word");
    const char *name = arena_copy(arena, (const char *)y->event.data.scalar.value);
    if (strlen(key) + strlen(name) > PATH_MOST)
      return refuse(y, key_at, "a key of more than 1,024 bytes");
    const char *path = *key ? arena_printf(arena, "%s.%s", key, name) : name;
    if (!key_once(y->im, path, key_at) || !next(y) || !read_node(y, path, key_at)) return false;
  }
  return count > 0 || !*key || leaf_add(y->im, key, LEAF_EMPTY, "{ }", at) != NULL;
}

static bool read_list(ImportYaml *y, const char *key, Span at) {
  Arena *arena = y->im->c->arena;
  Texts items = {0};
  const char *text = "";
  int32_t tables = 0;
  for (int32_t count = 0;; count++) {
    if (!next(y)) return false;
    if (y->event.type == YAML_SEQUENCE_END_EVENT) break;
    if (y->event.type == YAML_SCALAR_EVENT) {
      const char *item = scalar(y).text;
      VEC_PUSH(arena, &items.list, item);
      if (strlen(text) < 200) text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", item);
      continue;
    }
    tables++;
    const char *path = arena_printf(arena, "%s.%d", key, count);
    if (strlen(path) > PATH_MOST) return refuse(y, at, "a key of more than 1,024 bytes");
    if (!read_node(y, path, span_of(y, y->event.start_mark))) return false;
  }
  if (tables > 0 && items.list.count == 0) return true;
  Leaf *leaf = leaf_add(y->im, *key ? key : "[]", LEAF_LIST, arena_printf(arena, "[%s]", text), at);
  if (leaf) leaf->items = items;
  return leaf != NULL;
}

/* The event is the first of a value. */
static bool read_node(ImportYaml *y, const char *key, Span at) {
  if (y->event.type == YAML_SCALAR_EVENT) {
    Leaf value = scalar(y);
    Leaf *leaf = leaf_add(y->im, *key ? key : "value", value.kind, value.text, at);
    if (leaf) leaf->number = value.number;
    return leaf != NULL;
  }
  if (y->depth == DEPTH_MOST) return refuse(y, at, "more than 64 tables deep");
  y->depth++;
  bool is_good =
      y->event.type == YAML_MAPPING_START_EVENT ? read_map(y, key, at) : read_list(y, key, at);
  y->depth--;
  return is_good;
}

static bool read_stream(ImportYaml *y) {
  int32_t documents = 0;
  do {
    if (!next(y)) return false;
    Span at = span_of(y, y->event.start_mark);
    if (y->event.type == YAML_DOCUMENT_START_EVENT && documents++ > 0)
      return refuse(y, at, "the file holds two documents");
    bool is_value =
        y->event.type == YAML_SCALAR_EVENT || y->event.type == YAML_SEQUENCE_START_EVENT;
    if (is_value) return refuse(y, at, "a configuration is a map: key: value");
    if (y->event.type == YAML_MAPPING_START_EVENT && !read_node(y, "", at)) return false;
  } while (y->event.type != YAML_STREAM_END_EVENT);
  return true;
}

bool read_yaml(Import *im, const char *text, size_t size) {
  ImportYaml y = {.im = im};
  if (!yaml_parser_initialize(&y.parser))
    return error_at(im->c, (Span){.file = im->file}, "limit", "out of memory");
  yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&y.parser, (const unsigned char *)text, size);
  bool is_good = read_stream(&y);
  if (y.has_event) yaml_event_delete(&y.event);
  yaml_parser_delete(&y.parser);
  return is_good;
}
