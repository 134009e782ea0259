/* huggingface.c -- reads the table `huggingface` of a model file. */
#include "compiler/graph/model/huggingface.h"

#include <fnmatch.h>
#include <string.h>

typedef struct FolderReading {
  Model *model;
  lua_State *L;
  HuggingFace *out;
  bool good;
} FolderReading;

static void refuse(FolderReading *r, const char *key, const char *expected) {
  const char *path = arena_printf(r->model->compile->arena, "huggingface.%s", key);
  error_at(r->model->compile, key_place(r->model, r->out->path, path), "not-a-model",
           "%s: expected %s", path, expected);
  r->good = false;
}

static const char *copy_text(FolderReading *r, int index) {
  return arena_copy(r->model->compile->arena, lua_tostring(r->L, index));
}

static void read_text(FolderReading *r, const char *key, const char **out) {
  int type = lua_getfield(r->L, -1, key);
  if (type == LUA_TSTRING)
    *out = copy_text(r, -1);
  else if (type != LUA_TNIL)
    refuse(r, key, "a text");
  lua_pop(r->L, 1);
}

/* The texts 1, 2, ... of the table on top of the stack. */
static bool read_list(FolderReading *r, TextList *out) {
  for (lua_Integer i = 1; lua_rawgeti(r->L, -1, i) != LUA_TNIL; i++, lua_pop(r->L, 1)) {
    if (lua_type(r->L, -1) == LUA_TSTRING) {
      VEC_PUSH(r->model->compile->arena, out, copy_text(r, -1));
      continue;
    }
    lua_pop(r->L, 1);
    return false;
  }
  lua_pop(r->L, 1);
  return true;
}

static void read_texts(FolderReading *r, const char *key, TextList *out) {
  int type = lua_getfield(r->L, -1, key);
  if (type != LUA_TNIL && (type != LUA_TTABLE || !read_list(r, out)))
    refuse(r, key, "a list of texts");
  lua_pop(r->L, 1);
}

static bool read_value(FolderReading *r, ModelSize *value) {
  if (!sizes_read(r->L, -1, value)) return false;
  if (value->text != NULL) value->text = arena_copy(r->model->compile->arena, value->text);
  return true;
}

/* { "key", absent = ... } on top of the stack. */
static bool read_keys(FolderReading *r, ConfigKey *key) {
  if (lua_type(r->L, -1) == LUA_TSTRING) {
    VEC_PUSH(r->model->compile->arena, &key->keys, copy_text(r, -1));
    return true;
  }
  if (!lua_istable(r->L, -1) || !read_list(r, &key->keys) || key->keys.count == 0) return false;
  int type = lua_getfield(r->L, -1, "absent");
  bool good = type == LUA_TNIL || read_value(r, &key->value);
  lua_pop(r->L, 1);
  key->has_null = lua_getfield(r->L, -1, "null") != LUA_TNIL;
  good = good && (!key->has_null || read_value(r, &key->null_value));
  lua_pop(r->L, 1);
  if (!good || type == LUA_TNIL) return good;
  key->absent = key->value.kind != SIZE_TEXT              ? ABSENT_VALUE
                : strcmp(key->value.text, "derived") == 0 ? ABSENT_DERIVED
                                                          : ABSENT_SIZE;
  key->absent_size = key->absent == ABSENT_SIZE ? key->value.text : NULL;
  return true;
}

static int compare_keys(const void *a, const void *b) {
  return strcmp(((const ConfigKey *)a)->size, ((const ConfigKey *)b)->size);
}

static void read_config(FolderReading *r) {
  lua_State *L = r->L;
  int type = lua_getfield(L, -1, "config");
  if (type != LUA_TTABLE) refuse(r, "config", "a table, config = { width = \"hidden_size\" }");
  if (type == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
      ConfigKey key = {0};
      if (lua_type(L, -2) == LUA_TSTRING) key.size = copy_text(r, -2);
      if (key.size != NULL && read_keys(r, &key))
        VEC_PUSH(r->model->compile->arena, &r->out->config, key);
      else
        refuse(r, "config", "size = \"key\", or size = { \"key\", absent = VALUE }");
    }
  lua_pop(L, 1);
  if (r->out->config.count > 1) /* Lua tables have no order */
    qsort(r->out->config.at, (size_t)r->out->config.count, sizeof *r->out->config.at, compare_keys);
}

static int compare_must(const void *a, const void *b) {
  return strcmp(((const ConfigMust *)a)->key, ((const ConfigMust *)b)->key);
}

static void read_must(FolderReading *r) {
  lua_State *L = r->L;
  int type = lua_getfield(L, -1, "must");
  if (type != LUA_TTABLE && type != LUA_TNIL) refuse(r, "must", "a table, must = { key = value }");
  if (type == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
      ConfigMust must = {0};
      if (lua_type(L, -2) == LUA_TSTRING) must.key = copy_text(r, -2);
      if (must.key != NULL && read_value(r, &must.value))
        VEC_PUSH(r->model->compile->arena, &r->out->must, must);
      else
        refuse(r, "must", "key = a number, true or false, or a text");
    }
  lua_pop(L, 1);
  if (r->out->must.count > 1)
    qsort(r->out->must.at, (size_t)r->out->must.count, sizeof *r->out->must.at, compare_must);
}

static int compare_tied(const void *a, const void *b) {
  return strcmp(((const TiedTensor *)a)->tensor, ((const TiedTensor *)b)->tensor);
}

static void read_tied(FolderReading *r) {
  lua_State *L = r->L;
  int type = lua_getfield(L, -1, "tied");
  if (type != LUA_TTABLE && type != LUA_TNIL)
    refuse(r, "tied", "a table, tied = { [\"lm_head.weight\"] = \"wte.weight\" }");
  if (type == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
      if (lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING)
        VEC_PUSH(r->model->compile->arena, &r->out->tied,
                 (TiedTensor){copy_text(r, -2), copy_text(r, -1)});
      else
        refuse(r, "tied", "names of tensors and of the parameters that they equal");
    }
  if (r->out->tied.count > 1) /* the order of Lua's tables varies from run to run */
    qsort(r->out->tied.at, (size_t)r->out->tied.count, sizeof *r->out->tied.at, compare_tied);
  lua_pop(L, 1);
}

static void check_keys(FolderReading *r) {
  static const char *const keys[] = {"class", "model_type", "prefix", "transposed", "config",
                                     "must",  "drop",       "unused", "tied"};
  lua_State *L = r->L;
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "[1]";
    bool known = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
      known = known || strcmp(keys[i], key) == 0;
    if (!known)
      refuse(r, arena_copy(r->model->compile->arena, key),
             "one of class, model_type, prefix, transposed, config, must, drop, unused, tied");
  }
}

HuggingFace *huggingface_read(Model *model, lua_State *L, int index, const char *path) {
  HuggingFace *out = ARENA_NEW(model->compile->arena, HuggingFace);
  FolderReading r = {.model = model, .L = L, .out = out, .good = true};
  *out = (HuggingFace){.path = path};
  lua_pushvalue(L, index);
  if (!lua_istable(L, -1)) {
    error_at(model->compile, key_place(model, path, "huggingface"), "not-a-model",
             "huggingface: expected a table, huggingface = { class = \"LlamaForCausalLM\", ... }");
    lua_pop(L, 1);
    return NULL;
  }
  check_keys(&r);
  read_text(&r, "class", &out->class);
  read_text(&r, "model_type", &out->model_type);
  read_text(&r, "prefix", &out->prefix);
  read_texts(&r, "transposed", &out->transposed);
  read_texts(&r, "drop", &out->drop);
  read_texts(&r, "unused", &out->unused);
  read_config(&r);
  read_must(&r);
  read_tied(&r);
  if (out->class == NULL || out->model_type == NULL)
    refuse(&r, out->class == NULL ? "class" : "model_type", "a text");
  lua_pop(L, 1);
  return r.good ? out : NULL;
}

bool matches_any(const TextList *globs, const char *text) {
  for (int32_t i = 0; i < globs->count; i++)
    if (fnmatch(globs->at[i], text, 0) == 0) return true;
  return false;
}
