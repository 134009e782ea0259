/* config_write.c -- config.json of a model as the job has it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/graph/model/huggingface.h"

static const char *const rope_sizes[] = {"rope_base", "rope_factor", "rope_low_freq",
                                         "rope_high_freq", "rope_original_positions"};
enum { ROPE_SIZES = sizeof rope_sizes / sizeof *rope_sizes };

typedef struct ConfigWriting {
  Model *model;
  json_t *out;
  bool changed; /* against the file that came */
} ConfigWriting;

static json_t *value_of(const ModelSize *size) {
  if (size->kind == SIZE_FLAG) return json_boolean(size->number != 0);
  if (size->kind == SIZE_TEXT) return json_string(size->text);
  bool whole = size->number == floor(size->number) && fabs(size->number) < 0x1p53;
  return whole ? json_integer((json_int_t)size->number) : json_real(size->number);
}

/* The value that config.json gives; NULL: it does not. */
static const ModelSize *given(const Model *model, const char *name) {
  for (int32_t i = 0; i < model->config_sizes.count; i++)
    if (strcmp(model->config_sizes.at[i].name, name) == 0) return &model->config_sizes.at[i];
  return NULL;
}

static bool differs(const Model *model, const char *name) {
  const Size *size = sizes_find(model, name);
  const ModelSize *before = given(model, name);
  if (size == NULL) return false;
  if (before == NULL) return true;
  return size->is.kind != before->kind ||
         (size->is.kind == SIZE_TEXT ? strcmp(size->is.text, before->text) != 0
                                     : size->is.number != before->number);
}

static void set(ConfigWriting *w, const char *key, json_t *value) {
  (void)json_object_set_new(w->out, key, value);
  w->changed = true;
}

static void write_key(ConfigWriting *w, const ConfigKey *key) {
  if (!differs(w->model, key->size)) return;
  if (w->model->config != NULL && key->absent == ABSENT_DERIVED &&
      given(w->model, key->size) == NULL && !sizes_find(w->model, key->size)->overridden)
    return; /* still derived */
  const ModelSize *is = &sizes_find(w->model, key->size)->is;
  bool is_null =
      key->has_null && is->kind == key->null_value.kind && is->number == key->null_value.number;
  for (int32_t i = 0; i < key->keys.count; i++)
    set(w, key->keys.at[i], is_null ? json_null() : value_of(is));
}

static double number_of(const Model *model, const char *name) {
  const Size *size = sizes_find(model, name);
  return size != NULL ? size->is.number : 0;
}

/* In the spelling before transformers 5, which later ones read too. */
static void write_rope(ConfigWriting *w) {
  bool any = false;
  for (int32_t i = 0; i < ROPE_SIZES; i++)
    any = any || differs(w->model, rope_sizes[i]);
  if (!any) return;
  double factor = number_of(w->model, "rope_factor");
  double original = number_of(w->model, "rope_original_positions");
  (void)json_object_del(w->out, "rope_parameters");
  set(w, "rope_theta", json_real(number_of(w->model, "rope_base")));
  if (factor == 1)
    set(w, "rope_scaling", json_null());
  else if (original == 1)
    set(w, "rope_scaling", json_pack("{s:s, s:f}", "rope_type", "linear", "factor", factor));
  else
    set(w, "rope_scaling",
        json_pack("{s:s, s:f, s:f, s:f, s:I}", "rope_type", "llama3", "factor", factor,
                  "low_freq_factor", number_of(w->model, "rope_low_freq"), "high_freq_factor",
                  number_of(w->model, "rope_high_freq"), "original_max_position_embeddings",
                  (json_int_t)original));
}

/* The keys of a model that no folder came with. */
static void write_family(ConfigWriting *w) {
  const HuggingFace *family = w->model->huggingface;
  set(w, "architectures", json_pack("[s]", family->class));
  set(w, "model_type", json_string(family->model_type));
  for (int32_t i = 0; i < family->must.count; i++)
    if (strcmp(family->must.at[i].key, "layer_types") != 0)
      set(w, family->must.at[i].key, value_of(&family->must.at[i].value));
}

/* A size that the job sets and that no key can say; NULL: none. */
static const char *unsaid(const Model *model) {
  const HuggingFace *family = model->huggingface;
  bool has_rope = false;
  for (int32_t k = 0; k < family->config.count; k++)
    has_rope = has_rope || strcmp(family->config.at[k].size, "rope") == 0;
  for (int32_t i = 0; i < model->sizes.count; i++) {
    const Size *size = &model->sizes.at[i];
    bool said = !size->overridden || size->is.origin.kind < ORIGIN_BASE;
    for (int32_t k = 0; k < family->config.count; k++)
      said = said || strcmp(family->config.at[k].size, size->name) == 0;
    for (int32_t k = 0; has_rope && k < ROPE_SIZES; k++)
      said = said || strcmp(rope_sizes[k], size->name) == 0;
    if (!said) return size->name;
  }
  return NULL;
}

/* The file as it came. */
static const char *read_file(const Model *model) {
  Arena *arena = model->compile->arena;
  enum { CONFIG_BYTES_MAX = 1 << 20 };
  FILE *file = fopen(model->config_path, "rb");
  if (file == NULL) return "";
  char *text = arena_alloc(arena, CONFIG_BYTES_MAX + 1);
  text[fread(text, 1, CONFIG_BYTES_MAX, file)] = '\0';
  fclose(file);
  return text;
}

const char *config_write(Model *model) {
  const HuggingFace *family = model->huggingface;
  const char *name = unsaid(model);
  Arena *arena = model->compile->arena;
  if (name != NULL)
    return arena_printf(arena, "no key of a %s can say size %s, which the job sets", family->class,
                        name);
  ConfigWriting w = {.model = model,
                     .out = model->config != NULL ? json_deep_copy(model->config) : json_object()};
  if (model->config == NULL) write_family(&w);
  for (int32_t i = 0; i < family->config.count; i++)
    if (strcmp(family->config.at[i].size, "rope") == 0)
      write_rope(&w);
    else
      write_key(&w, &family->config.at[i]);
  char *text = w.changed
                   ? json_dumps(w.out, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15))
                   : NULL;
  const char *out = w.changed ? arena_printf(arena, "%s\n", text ? text : "") : read_file(model);
  free(text);
  json_decref(w.out);
  return out;
}
