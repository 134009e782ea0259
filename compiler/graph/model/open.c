/* open.c -- finds the files of a model, from the name in the job through presets to the family, and
 * reads what they declare. */
#include <stdlib.h>
#include <string.h>

#include "compiler/graph/model/huggingface.h"
#include "compiler/job/lua/span.h"
#include "compiler/job/paths.h"

enum { CHAIN_MAX = 8, FILE_BYTES_MAX = 1 << 20 };

/* The files from the one that the job names to the family. */
typedef struct ModelChain {
  Model *model;
  const char *path;        /* the file being read */
  const char *next;        /* the file that a preset is based on; NULL: this file is the family */
  VEC(ModelSize) settings; /* nearest to the job first */
} ModelChain;

/* ---- places in files: only for messages */

/* The text of the file, ending in a NUL; empty if it can no longer be read. */
static const char *read_text(Arena *arena, const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return "";
  char *text = arena_alloc(arena, FILE_BYTES_MAX + 1);
  text[fread(text, 1, FILE_BYTES_MAX, file)] = '\0';
  fclose(file);
  return text;
}

Span key_place(Model *model, const char *path, const char *key) {
  if (path == NULL) return (Span){0};
  Arena *arena = model->compile->arena;
  return span_of_key(span_map(arena, path, read_text(arena, path), "model"), key);
}

/* ---- one file of the chain */

static void bad_key(Model *model, const char *path, const char *key, const char *expected) {
  error_at(model->compile, key_place(model, path, key), "not-a-model", "%s: expected %s", key,
           expected);
}

static int compare_sizes(const void *a, const void *b) {
  return strcmp(((const Size *)a)->name, ((const Size *)b)->name);
}

/* sizes = { layers = required, head = function(m) ... end }, sorted by name, because Lua tables
 * have no order. */
static void read_sizes(ModelChain *chain, lua_State *L) {
  Model *model = chain->model;
  Arena *arena = model->compile->arena;
  lua_getfield(L, 1, "sizes");
  if (!lua_istable(L, -1)) {
    if (!lua_isnil(L, -1)) bad_key(model, chain->path, "sizes", "a table, sizes = { width = 64 }");
    lua_pop(L, 1);
    return;
  }
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    Size size = {.name = arena_copy(arena, name), .state = SIZE_READY};
    size.is.name = size.name;
    bool reserved =
        strcmp(name, "batch") == 0 || strcmp(name, "seq") == 0 || strcmp(name, "params") == 0;
    if (*name == '\0' || reserved) {
      bad_key(model, chain->path, "sizes", "names of your own; batch, seq and params are taken");
    } else if (lua_islightuserdata(L, -1)) {
      size.state = SIZE_REQUIRED;
    } else if (lua_isfunction(L, -1)) {
      size.state = SIZE_FUNCTION;
      lua_pushvalue(L, -1);
      size.function = luaL_ref(L, LUA_REGISTRYINDEX);
    } else if (!sizes_read(L, -1, &size.is)) {
      bad_key(model, chain->path, arena_printf(arena, "sizes.%s", name),
              "a number, true or false, a text, required, or function(m) ... end");
    }
    if (size.is.text != NULL) size.is.text = arena_copy(arena, size.is.text);
    VEC_PUSH(arena, &model->sizes, size);
  }
  lua_pop(L, 1);
  if (model->sizes.count > 1)
    qsort(model->sizes.at, (size_t)model->sizes.count, sizeof *model->sizes.at, compare_sizes);
}

/* axes = { hidden = "tp", heads = false } */
static void read_axes(ModelChain *chain, lua_State *L) {
  static const char *const axes[] = {"dp", "cp", "tp", NULL};
  Model *model = chain->model;
  lua_getfield(L, 1, "axes");
  if (!lua_istable(L, -1)) {
    if (!lua_isnil(L, -1))
      bad_key(model, chain->path, "axes", "a table, axes = { hidden = \"tp\" }");
    lua_pop(L, 1);
    return;
  }
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    const char *dim = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
    const char *key = arena_printf(model->compile->arena, "axes.%s", dim);
    const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    AxisRule rule = {arena_copy(model->compile->arena, dim), NULL};
    for (int32_t i = 0; axes[i] != NULL; i++)
      if (strcmp(axes[i], word) == 0) rule.axis = axes[i];
    bool never = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
    if (rule.axis == NULL && !never)
      bad_key(model, chain->path, key, "\"dp\", \"cp\", \"tp\" or false (never divided)");
    if (sizes_find(model, dim) == NULL && strcmp(dim, "batch") != 0 && strcmp(dim, "seq") != 0)
      bad_key(model, chain->path, key, "a dimension: one of the sizes, batch or seq");
    if (strcmp(dim, "batch") == 0 && (rule.axis == NULL || strcmp(rule.axis, "dp") != 0))
      bad_key(model, chain->path, key, "\"dp\", or nothing: samples are divided by dp alone");
    VEC_PUSH(model->compile->arena, &model->axes, rule);
  }
  lua_pop(L, 1);
}

static void check_keys(ModelChain *chain, lua_State *L) {
  static const char *const keys[] = {"sizes", "axes", "bias", "init", "forward", "huggingface"};
  Model *model = chain->model;
  for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "[1]";
    bool known = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
      known = known || strcmp(keys[i], key) == 0;
    if (known) continue;
    const char *near = nearest_word(key, keys, (int32_t)(sizeof keys / sizeof *keys));
    Span at = key_place(model, chain->path, key);
    error_at(model->compile, at.line ? at : model->declared_at, "unknown-key",
             "%s: no such key; a model has %s", key,
             "sizes, axes, bias, init, forward, huggingface");
    if (near != NULL) fix_last(model->compile, "%s", near);
  }
}

static void read_family(ModelChain *chain, lua_State *L) {
  Model *model = chain->model;
  model->family_path = chain->path;
  model->family_at = model->declared_at;
  check_keys(chain, L);
  read_sizes(chain, L);
  read_axes(chain, L);
  lua_getfield(L, 1, "bias");
  if (!lua_isnil(L, -1) && !lua_isboolean(L, -1))
    bad_key(model, chain->path, "bias", "true or false");
  model->bias = lua_toboolean(L, -1);
  model->init = (Init){RULE_NORMAL, 0, 0.02};
  lua_getfield(L, 1, "init");
  const char *wrong = lua_isnil(L, -1) ? NULL : init_read(model, L, -1, &model->init);
  if (wrong != NULL)
    error_at(model->compile, key_place(model, chain->path, "init"), "wrong-option", "init: %s",
             wrong);
  lua_getfield(L, 1, "forward");
  if (!lua_isfunction(L, -1)) {
    bool absent = lua_isnil(L, -1);
    Span at = absent ? model->declared_at : key_place(model, chain->path, "forward");
    error_at(model->compile, at, "not-a-model",
             "a model is { \"family\", ... } or has forward = function(m) ... end");
    lua_pop(L, 3);
    return;
  }
  model->forward = luaL_ref(L, LUA_REGISTRYINDEX);
  sizes_push_table(model, L);
  model->m = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pop(L, 2);
}

/* The number of parameters that a preset or the job states. False: it is not a count. */
static bool publish(Model *model, const ModelSize *params) {
  if (params->kind != SIZE_NUMBER || !(params->number >= 1 && params->number <= 0x1p53))
    return false;
  model->published = (int64_t)params->number;
  model->published_at = params->origin.span;
  return true;
}

/* The table of the file that is nearest to the job counts. */
static void read_huggingface(ModelChain *chain, lua_State *L) {
  Model *model = chain->model;
  int type = lua_getfield(L, 1, "huggingface");
  if (type != LUA_TNIL && model->huggingface == NULL)
    model->huggingface = huggingface_read(model, L, lua_gettop(L), chain->path);
  lua_pop(L, 1);
}

/* { "family", layers = 12, params = N } */
static void read_preset(ModelChain *chain, lua_State *L) {
  Model *model = chain->model;
  Arena *arena = model->compile->arena;
  bool changed = chain->settings.count > 0; /* then this count is of the unchanged model */
  for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
    if (lua_isinteger(L, -2) && lua_tointeger(L, -2) == 1) continue;
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    ModelSize size = {.name = arena_copy(arena, key),
                      .origin = {ORIGIN_PRESET, {.file = chain->path}, NULL}};
    if (strcmp(key, "huggingface") == 0) continue;
    if (*key == '\0' || !sizes_read(L, -1, &size)) {
      bad_key(model, chain->path, *key ? key : "[2]",
              "a size: name = number, true or false, or a text");
    } else if (strcmp(key, "params") == 0) {
      if (changed || model->published > 0) continue;
      if (!publish(model, &size)) bad_key(model, chain->path, key, "the number of parameters");
    } else {
      if (size.text != NULL) size.text = arena_copy(arena, size.text);
      VEC_PUSH(arena, &chain->settings, size);
    }
  }
}

/* Runs inside sandbox_call, with what the file returned and the chain. */
static int read_file(lua_State *L) {
  ModelChain *chain = lua_touserdata(L, 2);
  Model *model = chain->model;
  chain->next = NULL;
  if (!lua_istable(L, 1) || lua_topointer(L, 1) != model->declared)
    return sandbox_error(L, "not-a-model", "return model { ... }",
                         "the file returns a model; this one returns %s", luaL_typename(L, 1));
  lua_rawgeti(L, 1, 1);
  bool is_preset = lua_type(L, -1) == LUA_TSTRING;
  if (is_preset) chain->next = arena_copy(model->compile->arena, lua_tostring(L, -1));
  lua_pop(L, 1);
  read_huggingface(chain, L);
  if (is_preset)
    read_preset(chain, L);
  else
    read_family(chain, L);
  return 0;
}

/* ---- the chain */

static const char *directory_of(Arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? "." : arena_copy_n(arena, path, (size_t)(slash - path));
}

/* "./models/mlp.lua" -> "mlp" */
static const char *plain_name(Arena *arena, const char *head) {
  const char *slash = strrchr(head, '/');
  const char *base = slash != NULL ? slash + 1 : head;
  size_t length = strlen(base);
  bool is_file = length > 4 && strcmp(base + length - 4, ".lua") == 0;
  return arena_copy_n(arena, base, is_file ? length - 4 : length);
}

static bool follow_chain(ModelChain *chain) {
  Model *model = chain->model;
  Compile *c = model->compile;
  const char *name = model->folder != NULL ? folder_family(model) : model->job->model.head_text;
  const char *directory = model->job->directory;
  Span at = model->job->model.head_origin.span;
  for (int32_t length = 0; name != NULL; length++) {
    if (length == CHAIN_MAX)
      return error_at(c, at, "preset-cycle", "'%s' starts from '%s', which never ends in a family",
                      model->name, name);
    const char *path = sandbox_find(c, "models", name, directory, at);
    if (path == NULL) return false;
    chain->path = path;
    model->declared = NULL;
    if (!sandbox_run_file(c, model->L, path, at)) return false;
    lua_pushcfunction(model->L, read_file);
    lua_insert(model->L, -2);
    lua_pushlightuserdata(model->L, chain);
    if (!sandbox_call(c, model->L, 2, (Span){.file = path})) return false;
    lua_pop(model->L, 1);
    name = chain->next;
    directory = directory_of(c->arena, path);
    at = model->declared_at;
  }
  return !compile_failed(c);
}

/* Sizes in the job come before those of presets; its `params` states the count, like a preset's. */
static void take_job_sizes(ModelChain *chain) {
  Model *model = chain->model;
  for (int32_t i = 0; i < model->job->sizes.count; i++) {
    const ModelSize *size = &model->job->sizes.at[i];
    if (strcmp(size->name, "params") != 0)
      VEC_PUSH(model->compile->arena, &chain->settings, *size);
    else if (!publish(model, size))
      error_at(model->compile, size->origin.span, "wrong-size",
               "model.params: expected the number of parameters; got %s", sizes_text(model, size));
  }
}

/* Sizes of config.json come after the job's, and before those of a preset that was found by the
 * folder's class; where the job names a preset, they set only the sizes that it does not set. */
static bool take_config_sizes(ModelChain *chain, int32_t job_count) {
  Model *model = chain->model;
  Arena *arena = model->compile->arena;
  ModelSizes said = {0}, found = {0};
  if (model->config == NULL) return true;
  if (model->huggingface == NULL)
    return error_at(model->compile, model->job->model.head_origin.span, "model-folder",
                    "%s has no table huggingface, which says how config.json and names of tensors "
                    "map to it",
                    library_text(model->compile, model->family_path));
  for (int32_t i = 0; i < chain->settings.count; i++)
    VEC_PUSH(arena, &said, chain->settings.at[i]);
  if (!folder_check_class(model) || !folder_sizes(model, &said, &found)) return false;
  int32_t before = model->folder != NULL ? job_count : said.count;
  chain->settings.count = 0;
  for (int32_t i = 0; i < before; i++)
    VEC_PUSH(arena, &chain->settings, said.at[i]);
  for (int32_t i = 0; i < found.count; i++) {
    VEC_PUSH(arena, &chain->settings, found.at[i]);
    VEC_PUSH(arena, &model->config_sizes, found.at[i]);
  }
  for (int32_t i = before; i < said.count; i++)
    VEC_PUSH(arena, &chain->settings, said.at[i]);
  return true;
}

Model *model_open(Compile *c, const Job *job) {
  if (compile_failed(c)) return NULL;
  Model *model = ARENA_NEW(c->arena, Model);
  *model = (Model){.compile = c, .job = job, .forward = LUA_NOREF, .m = LUA_NOREF};
  model->name = plain_name(c->arena, path_join(c->arena, "", job->model.head_text));
  model->L = sandbox_open(c);
  vocabulary_register(model);
  lua_pushlightuserdata(model->L, model);
  sandbox_add_value(model->L, "required");
  ModelChain chain = {.model = model};
  take_job_sizes(&chain);
  const int32_t job_count = chain.settings.count;
  bool good = folder_open(model) && follow_chain(&chain) && take_config_sizes(&chain, job_count) &&
              sizes_merge(model, chain.settings.at, chain.settings.count) &&
              folder_compare(model) && sizes_fill(model);
  good = folder_open_files(model) && good; /* a wrong config.json hides no damage of files */
  if (good) return model;
  model_close(model);
  return NULL;
}

static bool has_size(const Job *job, const char *name) {
  for (int32_t i = 0; i < job->sizes.count; i++)
    if (strcmp(job->sizes.at[i].name, name) == 0) return true;
  return false;
}

void model_complete(const Model *model, Compile *c, Job *job) {
  for (int32_t i = 0; i < model->config_sizes.count; i++)
    if (!has_size(job, model->config_sizes.at[i].name))
      VEC_PUSH(c->arena, &job->sizes, model->config_sizes.at[i]);
  if (model->saved_path != NULL) job->model.weights = model->saved_path; /* of a run, the newest */
  if (job->origin[FIELD_model_weights].kind != ORIGIN_DERIVED) return;
  job->set[FIELD_model_weights] = model->weights != NULL;
  job->model.weights = model->weights;
  job->origin[FIELD_model_weights].rule =
      model->weights != NULL ? "the model's folder" : "the model is no folder";
}

void model_close(Model *model) {
  if (model == NULL) return;
  folder_close(model);
  sandbox_close(model->L);
  model->L = NULL;
}

bool model_is_of(const Model *model, const char *family) {
  const char *path = library_text(model->compile, model->family_path);
  return strcmp(path, arena_printf(model->compile->arena, "specs/models/%s.lua", family)) == 0;
}

double model_size(const Model *model, const char *name, double absent) {
  const Size *size = sizes_find(model, name);
  return size != NULL && size->is.kind != SIZE_TEXT ? size->is.number : absent;
}
