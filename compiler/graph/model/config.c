/* config.c -- the sizes that config.json gives, and its keys: each is a size, has the one value
 * that the model file computes, or is known to have no effect. */
#include <math.h>
#include <string.h>

#include "compiler/graph/model/huggingface.h"

/* Keys that change nothing here, of all families. */
static const char *const without_effect[] = {
    "architectures",     "model_type",    "*_token_id",  "use_cache",
    "initializer_range", "dtype",         "torch_dtype", "transformers_version",
    "pretraining_tp",    "_name_or_path", "auto_map"};

/* Keys that must have one value, of all families. */
static const ConfigMust must_everywhere[] = {{"attention_dropout", {.number = 0}}};

typedef struct ConfigReading {
  Model *model;
  const HuggingFace *family;
  ModelSizes *out;
  bool good;
} ConfigReading;

static void refuse(ConfigReading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void refuse(ConfigReading *r, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  error_at(r->model->compile, (Span){.file = r->model->config_path}, "config-json", "%s", text);
  r->good = false;
}

/* ---- values */

/* NULL: absent. */
static const json_t *value_at(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_null(value) ? NULL : value;
}

static bool to_size(ConfigReading *r, const json_t *value, ModelSize *out) {
  *out = (ModelSize){0};
  if (json_is_number(value)) {
    out->number = json_number_value(value);
  } else if (json_is_boolean(value)) {
    out->kind = SIZE_FLAG;
    out->number = json_is_true(value);
  } else if (json_is_string(value)) {
    out->kind = SIZE_TEXT;
    out->text = arena_copy(r->model->compile->arena, json_string_value(value));
  } else {
    return false;
  }
  return true;
}

static bool equal_sizes(const ModelSize *a, const ModelSize *b) {
  if (a->kind != b->kind) return false;
  return a->kind == SIZE_TEXT ? strcmp(a->text, b->text) == 0 : a->number == b->number;
}

static const char *json_show(ConfigReading *r, const json_t *value) {
  char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
  const char *copy = text ? arena_printf(r->model->compile->arena, "%.80s", text) : "?";
  free(text);
  return copy;
}

static void push_size(ConfigReading *r, const char *name, ModelSize size, const char *key) {
  Arena *arena = r->model->compile->arena;
  size.name = name;
  size.origin = (Origin){.kind = ORIGIN_DERIVED,
                         .rule = arena_printf(arena, "%s: %s", r->model->config_path, key)};
  VEC_PUSH(arena, r->out, size);
}

/* ---- keys */

static bool is_in_list(const TextList *list, const char *text) {
  for (int32_t i = 0; i < list->count; i++)
    if (strcmp(list->at[i], text) == 0) return true;
  return false;
}

static bool reads_rope(const ConfigReading *r) {
  for (int32_t i = 0; i < r->family->config.count; i++)
    if (strcmp(r->family->config.at[i].size, "rope") == 0) return true;
  return false;
}

static bool is_known(const ConfigReading *r, const char *key) {
  static const char *const rope[] = {"rope_theta", "rope_scaling", "rope_parameters"};
  const TextList everywhere = {.at = (const char **)without_effect,
                               .count = sizeof without_effect / sizeof *without_effect};
  for (size_t i = 0; reads_rope(r) && i < sizeof rope / sizeof *rope; i++)
    if (strcmp(rope[i], key) == 0) return true;
  for (int32_t i = 0; i < r->family->config.count; i++)
    if (is_in_list(&r->family->config.at[i].keys, key)) return true;
  for (int32_t i = 0; i < r->family->must.count; i++)
    if (strcmp(r->family->must.at[i].key, key) == 0) return true;
  for (size_t i = 0; i < sizeof must_everywhere / sizeof *must_everywhere; i++)
    if (strcmp(must_everywhere[i].key, key) == 0) return true;
  return matches_any(&everywhere, key) || matches_any(&r->family->unused, key);
}

static void check_known(ConfigReading *r) {
  const char *key;
  json_t *value;
  json_object_foreach(r->model->config, key, value) {
    if (json_is_null(value) || is_known(r, key) || matches_any(&r->model->job->model.ignore, key))
      continue;
    const char *shown = text_plain(r->model->compile->arena, key);
    refuse(r, "%s = %s: %s does not know this key", shown, json_show(r, value),
           library_text(r->model->compile, r->family->path));
    note_at(r->model->compile, (Span){0}, "model.ignore = { \"%s\" } leaves it out on purpose",
            shown);
  }
}

/* A list has the value if all its items have it. */
static bool is_value(ConfigReading *r, const json_t *value, const ModelSize *wanted) {
  ModelSize found;
  size_t i;
  const json_t *item;
  if (!json_is_array(value)) return to_size(r, value, &found) && equal_sizes(&found, wanted);
  json_array_foreach((json_t *)value, i, item) {
    if (!is_value(r, item, wanted)) return false;
  }
  return true;
}

static void check_must(ConfigReading *r, const ConfigMust *must) {
  const json_t *value = value_at(r->model->config, must->key);
  if (value == NULL || is_value(r, value, &must->value) ||
      matches_any(&r->model->job->model.ignore, must->key))
    return;
  refuse(r, "%s = %s: %s computes only %s", must->key, json_show(r, value),
         library_text(r->model->compile, r->family->path), sizes_text(r->model, &must->value));
}

/* ---- sizes */

static bool has_size(const ModelSizes *sizes, const char *name) {
  for (int32_t i = 0; i < sizes->count; i++)
    if (strcmp(sizes->at[i].name, name) == 0) return true;
  return false;
}

static bool is_null(const ConfigReading *r, const ConfigKey *key) {
  for (int32_t i = 0; i < key->keys.count; i++)
    if (json_is_null(json_object_get(r->model->config, key->keys.at[i]))) return true;
  return false;
}

static void read_size(ConfigReading *r, const ConfigKey *key, const ModelSizes *said) {
  const json_t *first = NULL;
  const char *from = NULL;
  for (int32_t i = 0; i < key->keys.count; i++) {
    const json_t *value = value_at(r->model->config, key->keys.at[i]);
    if (value == NULL) continue;
    if (first != NULL && !json_equal(first, value))
      refuse(r, "%s = %s and %s = %s: %s has one %s for both", from, json_show(r, first),
             key->keys.at[i], json_show(r, value), library_text(r->model->compile, r->family->path),
             key->size);
    if (first == NULL) from = key->keys.at[i];
    if (first == NULL) first = value;
  }
  ModelSize size;
  const Size *declared = sizes_find(r->model, key->size);
  if (declared == NULL) {
    refuse(r, "%s: %s maps it to size %s, which the family does not declare", key->keys.at[0],
           library_text(r->model->compile, r->family->path), key->size);
  } else if (first != NULL && !to_size(r, first, &size)) {
    refuse(r, "%s = %s: expected a number, true or false, or a text", from, json_show(r, first));
  } else if (first != NULL && size.kind == SIZE_NUMBER &&
             !(size.number >= 0 && size.number <= 1e15)) {
    refuse(r, "%s = %s: expected a number from 0 to 1e15", from, json_show(r, first));
  } else if (first != NULL) {
    push_size(r, key->size, size, from);
  } else if (key->has_null && is_null(r, key)) {
    push_size(r, key->size, key->null_value, key->keys.at[0]);
  } else if (key->absent == ABSENT_VALUE) {
    push_size(r, key->size, key->value,
              arena_printf(r->model->compile->arena, "no %s", key->keys.at[0]));
  } else if (key->absent == ABSENT_REFUSED && !has_size(said, key->size)) {
    refuse(r, "%s is missing", key->keys.at[0]);
  }
}

/* Sizes that take the value of another size if their key is absent. */
static void copy_absent(ConfigReading *r, const ConfigKey *key) {
  if (key->absent != ABSENT_SIZE || has_size(r->out, key->size)) return;
  for (int32_t i = 0; i < r->out->count; i++)
    if (strcmp(r->out->at[i].name, key->absent_size) == 0) {
      push_size(r, key->size, r->out->at[i],
                arena_printf(r->model->compile->arena, "no %s", key->keys.at[0]));
      return;
    }
}

/* ---- rotary positions: rope_theta and rope_scaling, or rope_parameters */

typedef struct Rope {
  double base, factor, low, high, original;
} Rope;

static bool rope_number(ConfigReading *r, const json_t *object, const char *key, double *number) {
  const json_t *value = value_at(object, key);
  if (!json_is_number(value)) {
    refuse(r, "rope: %s is missing, or no number", key);
    return false;
  }
  *number = json_number_value(value);
  return true;
}

static const char *rope_type(const json_t *object) {
  const json_t *type = value_at(object, "rope_type");
  if (type == NULL) type = value_at(object, "type");
  return type == NULL ? "default" : json_is_string(type) ? json_string_value(type) : "?";
}

static void check_rope_keys(ConfigReading *r, const json_t *object, const char *const *keys) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    bool known = json_is_null(value);
    for (int32_t i = 0; keys[i] != NULL; i++)
      known = known || strcmp(keys[i], key) == 0;
    if (!known)
      refuse(r, "rope: %s = %s is not computed for type \"%s\"",
             text_plain(r->model->compile->arena, key), json_show(r, value), rope_type(object));
  }
}

/* An object of either spelling. */
static void read_rope_object(ConfigReading *r, const json_t *object, Rope *rope) {
  static const char *const plain[] = {"rope_type", "type", "rope_theta", NULL};
  static const char *const linear[] = {"rope_type", "type", "rope_theta", "factor", NULL};
  static const char *const llama3[] = {"rope_type",
                                       "type",
                                       "rope_theta",
                                       "factor",
                                       "low_freq_factor",
                                       "high_freq_factor",
                                       "original_max_position_embeddings",
                                       NULL};
  const char *type = rope_type(object);
  if (!json_is_object(object)) {
    refuse(r, "rope: expected an object; got %s", json_show(r, object));
  } else if (strcmp(type, "default") == 0) {
    check_rope_keys(r, object, plain);
  } else if (strcmp(type, "linear") == 0) {
    check_rope_keys(r, object, linear);
    (void)rope_number(r, object, "factor", &rope->factor);
    rope->original = 1; /* each wavelength is longer than that, so each is slowed */
  } else if (strcmp(type, "llama3") == 0) {
    check_rope_keys(r, object, llama3);
    (void)(rope_number(r, object, "factor", &rope->factor) &&
           rope_number(r, object, "low_freq_factor", &rope->low) &&
           rope_number(r, object, "high_freq_factor", &rope->high) &&
           rope_number(r, object, "original_max_position_embeddings", &rope->original));
  } else {
    refuse(r, "rope: type \"%s\" is not computed; default, linear and llama3 are",
           text_plain(r->model->compile->arena, type));
  }
  if (json_is_object(object) && value_at(object, "rope_theta") != NULL)
    (void)rope_number(r, object, "rope_theta", &rope->base);
}

static bool same_rope(const Rope *a, const Rope *b) {
  return a->base == b->base && a->factor == b->factor && a->low == b->low && a->high == b->high &&
         a->original == b->original;
}

static void read_rope(ConfigReading *r) {
  const json_t *config = r->model->config;
  const json_t *new = value_at(config, "rope_parameters"), *old = value_at(config, "rope_scaling");
  const Rope absent = {.base = 10000, .factor = 1, .low = 1, .high = 4, .original = 8192};
  Rope rope = absent, before = absent;
  const bool has_old = old != NULL || value_at(config, "rope_theta") != NULL;
  if (value_at(config, "rope_theta") != NULL)
    (void)rope_number(r, config, "rope_theta", &before.base);
  if (old != NULL) read_rope_object(r, old, &before);
  if (new != NULL) read_rope_object(r, new, &rope);
  if (new == NULL) rope = before;
  if (new != NULL && has_old && !same_rope(&rope, &before))
    refuse(r, "rope_parameters and rope_theta or rope_scaling say different things");
  const char *key = new != NULL ? "rope_parameters"
                    : has_old   ? "rope_theta, rope_scaling"
                                : "no rope_theta";
  const struct {
    const char *name;
    double value;
  } sizes[] = {{"rope_base", rope.base},
               {"rope_factor", rope.factor},
               {"rope_low_freq", rope.low},
               {"rope_high_freq", rope.high},
               {"rope_original_positions", rope.original}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    push_size(r, sizes[i].name, (ModelSize){.number = sizes[i].value}, key);
}

bool folder_sizes(Model *model, const ModelSizes *said, ModelSizes *out) {
  const HuggingFace *family = model->huggingface;
  ConfigReading r = {.model = model, .family = family, .out = out, .good = true};
  check_known(&r);
  for (int32_t i = 0; i < family->must.count; i++)
    check_must(&r, &family->must.at[i]);
  for (size_t i = 0; i < sizeof must_everywhere / sizeof *must_everywhere; i++)
    if (value_at(model->config, must_everywhere[i].key) != NULL)
      check_must(&r, &must_everywhere[i]);
  for (int32_t i = 0; i < family->config.count; i++) {
    const ConfigKey *key = &family->config.at[i];
    if (strcmp(key->size, "rope") == 0)
      read_rope(&r);
    else
      read_size(&r, key, said);
  }
  for (int32_t i = 0; i < family->config.count; i++)
    copy_absent(&r, &family->config.at[i]);
  return r.good;
}

bool folder_compare(Model *model) {
  bool good = true;
  for (int32_t i = 0; i < model->config_sizes.count; i++) {
    const ModelSize *said = &model->config_sizes.at[i];
    const Size *size = sizes_find(model, said->name);
    if (size == NULL || size->is.origin.kind != ORIGIN_PRESET || equal_sizes(&size->is, said))
      continue;
    good = error_at(model->compile, (Span){.file = model->config_path}, "config-json",
                    "%s is %s there, and %s in %s: weights of another model", said->name,
                    sizes_text(model, said), sizes_text(model, &size->is), model->name);
  }
  return good;
}
