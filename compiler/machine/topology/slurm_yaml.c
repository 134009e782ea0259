/* slurm_yaml.c -- Slurm's topology.yaml (25.05 on): a list of topologies, each a tree, blocks,
 * flat, rings, toruses.
 *
 * libyaml gives events; they become a small tree of our own first, within limits and without
 * aliases. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "compiler/machine/topology/switches.h"

enum { DEPTH_MOST = 16, VALUES_MOST = 200000 };

/* A scalar, or a list of items, or a map of keys and values in turn. */
typedef struct YamlValue {
  yaml_event_type_t kind; /* YAML_SCALAR_EVENT, ..._SEQUENCE_START_EVENT, ..._MAPPING_START_EVENT */
  const char *text;
  int32_t line;
  VEC(int32_t) items;
} YamlValue;

typedef struct Yaml {
  Compile *c;
  const char *path;
  VEC(YamlValue) values; /* the first is the document */
} Yaml;

#define EXAMPLE "- {topology: t, tree: {switches: [{switch: s, nodes: 'n[1-9]'}]}}"

static bool refuse_for(Yaml *y, int32_t line, const char *what, const char *fix) {
  error_at(y->c, (Span){.file = y->path, .line = line}, "topology-yaml", "%s", what);
  fix_last(y->c, "%s", fix);
  return false;
}

static bool has_tag(const yaml_event_t *event) {
  const yaml_char_t *tag = event->type == YAML_SCALAR_EVENT ? event->data.scalar.tag
                           : event->type == YAML_SEQUENCE_START_EVENT
                               ? event->data.sequence_start.tag
                               : event->data.mapping_start.tag;
  return tag != NULL;
}

/* Takes one event; `open` are the lists and maps around it. */
static bool take_event(Yaml *y, const yaml_event_t *event, int32_t *open, int32_t *depth) {
  int32_t line = (int32_t)event->start_mark.line + 1;
  bool is_end = event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT;
  bool is_scalar = event->type == YAML_SCALAR_EVENT;
  bool is_start =
      event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
  if (event->type == YAML_ALIAS_EVENT)
    return refuse_for(y, line, "aliases are not read", "write the value itself");
  if (is_end) return --*depth, true;
  if (!is_scalar && !is_start) return true;
  if (has_tag(event)) return refuse_for(y, line, "tags are not read", "write the value alone");
  if (y->values.count == VALUES_MOST)
    return refuse_for(y, line, "more than 200,000 values",
                      "ranges of names, as in nodes: n[0001-1024]");
  YamlValue value = {.kind = event->type, .line = line};
  if (is_scalar) value.text = arena_copy(y->c->arena, (const char *)event->data.scalar.value);
  if (y->values.count > 0 && *depth == 0)
    return refuse_for(y, line, "the file holds two documents", "all topologies in one list");
  VEC_PUSH(y->c->arena, &y->values, value);
  int32_t index = y->values.count - 1;
  if (*depth > 0) VEC_PUSH(y->c->arena, &y->values.at[open[*depth - 1]].items, index);
  if (is_start && *depth == DEPTH_MOST)
    return refuse_for(y, line, "more than 16 lists deep", "as in " EXAMPLE);
  if (is_start) open[(*depth)++] = index;
  return true;
}

static bool parse(Yaml *y, const char *text, size_t size_bytes) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) abort();
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, size_bytes);
  int32_t open[DEPTH_MOST], depth = 0;
  bool is_good = true, is_over = false;
  while (is_good && !is_over) {
    yaml_event_t event;
    if (!yaml_parser_parse(&parser, &event)) {
      is_good = refuse_for(y, (int32_t)parser.problem_mark.line + 1,
                           arena_printf(y->c->arena, "this is not YAML: %s",
                                        parser.problem ? parser.problem : "unreadable"),
                           "blanks and no tabs before a line, quotes and brackets closed");
      break;
    }
    is_over = event.type == YAML_STREAM_END_EVENT;
    is_good = take_event(y, &event, open, &depth);
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
  return is_good;
}

/* ---- keys and values */

static const YamlValue *get(const Yaml *y, const YamlValue *map, const char *key) {
  if (!map || map->kind != YAML_MAPPING_START_EVENT) return NULL;
  for (int32_t i = 0; i + 1 < map->items.count; i += 2) {
    const YamlValue *name = &y->values.at[map->items.at[i]];
    if (name->text && strcmp(name->text, key) == 0) return &y->values.at[map->items.at[i + 1]];
  }
  return NULL;
}

/* Without the blank at the end. */
static const char *trimmed(const Yaml *y, const char *words) {
  return arena_copy_n(y->c->arena, words, strlen(words) - 1);
}

/* Keys are words of the list, " a b ", each once: what is mistyped must not count as absent. */
static bool check_keys(Yaml *y, const YamlValue *map, const char *words) {
  for (int32_t i = 0; map->kind == YAML_MAPPING_START_EVENT && i < map->items.count; i += 2) {
    const YamlValue *key = &y->values.at[map->items.at[i]];
    const char *name = key->text ? key->text : "";
    if (!*name || strchr(name, ' ') || !strstr(words, arena_printf(y->c->arena, " %s ", name)))
      return refuse_for(
          y, key->line, arena_printf(y->c->arena, "'%.40s' is no key of this place", name),
          *words ? arena_printf(y->c->arena, "of the keys%s", trimmed(y, words)) : "remove it");
    if (get(y, map, name) != &y->values.at[map->items.at[i + 1]])
      return refuse_for(y, key->line, arena_printf(y->c->arena, "%s is here twice", name),
                        "remove one");
  }
  return true;
}

/* As YAML 1.1 writes them, and Slurm reads them. */
static bool is_one_of(const char *text, const char *const *words) {
  for (; text && *words; words++)
    if (strcasecmp(text, *words) == 0) return true;
  return false;
}

static bool get_flag(Yaml *y, const YamlValue *map, const char *key, bool *flag) {
  static const char *const yes[] = {"true", "yes", "on", NULL}, *const no[] = {"false", "no", "off",
                                                                               NULL};
  const YamlValue *value = get(y, map, key);
  *flag = value && is_one_of(value->text, yes);
  if (!value || *flag || is_one_of(value->text, no)) return true;
  return refuse_for(y, value->line, arena_printf(y->c->arena, "%s is true or false", key),
                    arena_printf(y->c->arena, "%s: true", key));
}

/* NULL where there is none, or an empty one. False: it is a list or a map. */
static bool get_text(Yaml *y, const YamlValue *map, const char *key, const char *example,
                     const char **text) {
  const YamlValue *value = get(y, map, key);
  *text = value && value->text && *value->text ? value->text : NULL;
  if (!value || value->text) return true;
  return refuse_for(y, value->line, arena_printf(y->c->arena, "%s is one text, not a list", key),
                    arena_printf(y->c->arena, "%s: %s", key, example));
}

/* The items of a list; absent or no list: none. */
static int32_t item_count(const YamlValue *list) {
  return list && list->kind == YAML_SEQUENCE_START_EVENT ? list->items.count : 0;
}

static const YamlValue *item(const Yaml *y, const YamlValue *list, int32_t i) {
  return &y->values.at[list->items.at[i]];
}

static bool get_number(Yaml *y, const YamlValue *value, int64_t *number) {
  char *end = NULL;
  errno = 0;
  *number = value && value->text ? strtoll(value->text, &end, 10) : 0;
  if (end && end != value->text && !*end && errno == 0 && *number > 0 && *number <= HOSTS_MOST)
    return true;
  return refuse_for(y, value ? value->line : 1, "a whole number from 1 to 65536 is wanted here",
                    "block_sizes: [4, 16], or dims: {x: 4, y: 4, z: 4}");
}

static bool read_dims(Yaml *y, const YamlValue *map, Switch *added) {
  static const char *const axes[] = {"x", "y", "z"};
  const YamlValue *dims = get(y, map, "dims");
  if (dims && !check_keys(y, dims, " x y z ")) return false;
  for (int32_t i = 0; i < 3; i++) {
    int64_t size;
    const YamlValue *value = get(y, dims, axes[i]);
    if (!value)
      return refuse_for(y, map->line, "a torus has dims: x, y and z", "dims: {x: 4, y: 4, z: 4}");
    if (!get_number(y, value, &size)) return false;
    added->dims[i] = (int32_t)size;
  }
  return true;
}

typedef struct YamlShape {
  const char *word, *list, *name;
  NetworkKind kind;
  const char *keys, *member_keys;
} YamlShape;

static const YamlShape shapes[] = {
    {"tree", "switches", "switch", NETWORK_TREE, " switches ",
     " switch children nodes link_speed "},
    {"block", "blocks", "block", NETWORK_BLOCK, " block_sizes blocks ", " block nodes "},
    {"ring", "rings", "ring", NETWORK_RING, " rings ", " ring nodes "},
    {"torus3d", "toruses", "name", NETWORK_TORUS, " toruses ", " name dims nodes placements "},
    {"flat", "", "", NETWORK_FLAT, " alpha_step_rank ", ""}};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool read_members(Yaml *y, const YamlValue *body, const YamlShape *shape,
                         Switches *network) {
  const YamlValue *list = get(y, body, shape->list), *sizes = get(y, body, "block_sizes");
  if (!check_keys(y, body, shape->keys)) return false;
  if (shape->kind != NETWORK_FLAT && item_count(list) == 0)
    return refuse_for(
        y, body->line, arena_printf(y->c->arena, "a %s has a list of %s", shape->word, shape->list),
        arena_printf(y->c->arena, "%s: [{%s: NAME, nodes: 'n[01-16]'}]", shape->list, shape->name));
  if (sizes && item_count(sizes) == 0)
    return refuse_for(y, sizes->line, "block_sizes is a list", "block_sizes: [4, 16]");
  for (int32_t i = 0; i < item_count(list); i++) {
    const YamlValue *at = item(y, list, i);
    if (!check_keys(y, at, shape->member_keys)) return false;
    Switch added = {.line = at->line};
    if (!get_text(y, at, shape->name, "NAME", &added.name) ||
        !get_text(y, at, "nodes", "n[01-16]", &added.hosts) ||
        !get_text(y, at, "children", "s[1-4]", &added.children))
      return false;
    if (!added.name)
      return refuse_for(y, at->line,
                        arena_printf(y->c->arena, "one of the %s has no name", shape->list),
                        arena_printf(y->c->arena, "{%s: NAME, nodes: 'n[01-16]'}", shape->name));
    if (shape->kind == NETWORK_TORUS && !read_dims(y, at, &added)) return false;
    if (!switches_add(y->c, (Span){.file = y->path, .line = at->line}, network, added))
      return false;
  }
  for (int32_t i = 0; i < item_count(sizes); i++) {
    int64_t size;
    if (!get_number(y, item(y, sizes, i), &size)) return false;
    VEC_PUSH(y->c->arena, &network->block_sizes, size);
  }
  return true;
}

/* NULL: reported. */
static const YamlShape *shape_of(Yaml *y, const YamlValue *map) {
  const YamlShape *found = NULL;
  bool is_flat = true;
  for (int32_t i = 0; i < SHAPES; i++) {
    if (!get(y, map, shapes[i].word)) continue;
    if (found) {
      refuse_for(y, map->line,
                 arena_printf(y->c->arena, "a topology is a %s or a %s, not both", found->word,
                              shapes[i].word),
                 "two topologies, each with a name");
      return NULL;
    }
    found = &shapes[i];
  }
  const YamlValue *body = found ? get(y, map, found->word) : NULL;
  if (body && found->kind == NETWORK_FLAT && body->text && !get_flag(y, map, "flat", &is_flat))
    return NULL;
  if (!found || !is_flat)
    refuse_for(y, map->line, "a topology is a tree, block, flat, ring or torus3d", "flat: true");
  return is_flat ? found : NULL;
}

static bool read_topology(Yaml *y, const YamlValue *map, SwitchesList *networks) {
  Switches network = {.line = map->line};
  Span span = {.file = y->path, .line = map->line};
  if (!get_text(y, map, "topology", "NAME", &network.name)) return false;
  if (!network.name) return refuse_for(y, map->line, "a topology has a name", "topology: NAME");
  if (!check_keys(y, map, " topology cluster_default tree block flat ring torus3d ")) return false;
  if (!get_flag(y, map, "cluster_default", &network.is_default)) return false;
  for (int32_t i = 0; i < networks->count; i++) {
    const Switches *other = &networks->at[i];
    if (strcmp(other->name, network.name) == 0)
      return refuse_for(y, map->line, "two topologies have this name",
                        arena_printf(y->c->arena, "topology: %.40s2", network.name));
    if (other->is_default && network.is_default)
      return refuse_for(y, map->line, "two topologies are the cluster's default",
                        "cluster_default: false");
  }
  const YamlShape *shape = shape_of(y, map);
  if (!shape) return false;
  network.kind = shape->kind;
  if (!read_members(y, get(y, map, shape->word), shape, &network)) return false;
  if (!switches_finish(y->c, span, &network)) return false;
  VEC_PUSH(y->c->arena, networks, network);
  return true;
}

bool slurm_yaml_read(Compile *c, const char *path, const char *text, size_t size_bytes,
                     SwitchesList *networks) {
  Yaml y = {.c = c, .path = path};
  if (!parse(&y, text, size_bytes)) return false;
  const YamlValue *root = y.values.count > 0 ? &y.values.at[0] : NULL;
  if (item_count(root) == 0) return refuse_for(&y, 1, "a list of topologies is wanted", EXAMPLE);
  if (item_count(root) > 64)
    return refuse_for(&y, 1, "more than 64 topologies", "those alone that jobs run on");
  for (int32_t i = 0; i < item_count(root); i++)
    if (!read_topology(&y, item(&y, root, i), networks)) return false;
  return true;
}
