/* folder.c -- the folder of a model: its class, its sizes, and the file of its weights. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/graph/model/huggingface.h"
#include "compiler/job/paths.h"
#include "runtime/json/json.h"

enum { CONFIG_BYTES_MAX = 1 << 20, PROBLEMS_MAX = 40 };

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool is_in(const char *folder, const char *name, Arena *arena) {
  return access(arena_printf(arena, "%s/%s", folder, name), F_OK) == 0;
}

/* ---- the two folders */

/* NULL: the head of the section is no folder. */
static const char *folder_of_head(const Model *model) {
  const char *head = model->job->model.head_text;
  bool is_path = *head == '/' || strncmp(head, "./", 2) == 0 || strncmp(head, "../", 3) == 0;
  if (!is_path) return NULL;
  const char *path = path_join(model->compile->arena, model->job->directory, head);
  return is_folder(path) ? path : NULL;
}

static Span head_at(const Model *model) {
  return model->job->model.head_origin.span;
}

static bool weights_said(const Job *job) {
  return job->origin[FIELD_model_weights].kind != ORIGIN_DERIVED;
}

static Span weights_at(const Model *model) {
  return weights_said(model->job) ? field_place(model->job, FIELD_model_weights) : head_at(model);
}

static bool read_config(Model *model, const char *folder, Span at) {
  Compile *c = model->compile;
  int failure = 0;
  JsonFault fault;
  model->config_path = arena_printf(c->arena, "%s/config.json", folder);
  VEC_PUSH(c->arena, &c->read, ((ReadFile){.path = folder}));
  model->config = json_read_file(model->config_path, CONFIG_BYTES_MAX, &failure, &fault);
  if (json_is_object(model->config)) return true;
  if (failure == ENOENT)
    return error_at(c, at, "model-folder",
                    "%s: a folder is a model if it has config.json, and this one has none", folder);
  if (failure != 0)
    return error_at(c, at, "model-folder", "%s: %s", model->config_path, strerror(failure));
  if (model->config != NULL)
    return error_at(c, (Span){.file = model->config_path}, "model-folder", "it is no JSON object");
  return error_at(c, (Span){.file = model->config_path}, "model-folder", "byte %lld: %s",
                  (long long)fault.first_byte, fault.why);
}

typedef struct Problems {
  Model *model;
  int32_t count;
} Problems;

static void report_problem(void *context, const SafeProblem *problem) {
  Problems *problems = context;
  Compile *c = problems->model->compile;
  Span at = {.file = arena_copy(c->arena, problem->file)};
  if (problems->count++ >= PROBLEMS_MAX) return;
  if (problem->tensor != NULL)
    error_at(c, at, "weights-file", "tensor %s, byte %lld: %s", problem->tensor,
             (long long)problem->first_byte, problem->why);
  else
    error_at(c, at, "weights-file", "%s", problem->why);
}

static bool open_weights(Model *model) {
  Compile *c = model->compile;
  char path[WEIGHTS_PATH_BYTES], why[SAFE_WHY_BYTES] = "";
  Status status = {0};
  Problems problems = {.model = model};
  const SafeSink sink = {report_problem, &problems};
  WeightsFound found = weights_find(model->weights, path, why);
  if (found == WEIGHTS_NONE)
    return error_at(c, weights_at(model), "weights-file", "%s %s", model->weights, why);
  if (found == WEIGHTS_BOTH)
    lint_at(c, weights_at(model), "weights-both",
            "%s has model.safetensors and an index of shards: the one file is read, the shards are "
            "not",
            model->weights);
  model->has_set = true;
  SafeResult result = safe_set_open(&model->set, path, &sink, &status);
  if (result == SAFE_UNREAD)
    return error_at(c, (Span){.file = arena_copy(c->arena, path)}, "weights-file", "%s",
                    status.text);
  if (problems.count > PROBLEMS_MAX)
    note_at(c, (Span){0}, "and %d more", (int)(problems.count - PROBLEMS_MAX));
  if (result != SAFE_WHOLE) return false;
  return weights_sum(&model->set, &model->weights_sum, &status) ||
         error_at(c, (Span){.file = arena_copy(c->arena, path)}, "weights-file", "%s", status.text);
}

bool folder_open(Model *model) {
  const Job *job = model->job;
  model->folder = folder_of_head(model);
  model->weights = model->folder;
  if (weights_said(job)) /* not set: "none" */
    model->weights = job->set[FIELD_model_weights] ? job->model.weights : NULL;
  if (model->weights != NULL)
    VEC_PUSH(model->compile->arena, &model->compile->read, ((ReadFile){.path = model->weights}));
  if (model->folder != NULL && !read_config(model, model->folder, head_at(model))) return false;
  if (model->weights == NULL) return true;
  if (!is_folder(model->weights))
    return error_at(model->compile, weights_at(model), "weights-file",
                    "%s is no folder: weights come from a folder with config.json and "
                    "model.safetensors",
                    model->weights);
  if (!is_in(model->weights, "config.json", model->compile->arena) && saved_find_newest(model))
    return saved_open_weights(model);
  return model->folder != NULL || read_config(model, model->weights, weights_at(model));
}

bool folder_open_files(Model *model) {
  const bool is_model = model->weights != NULL && model->saved_path == NULL;
  return !is_model || !is_folder(model->weights) || open_weights(model);
}

void folder_close(Model *model) {
  if (model->config != NULL) json_decref(model->config);
  if (model->has_set) safe_set_close(&model->set);
  saved_close_weights(model);
  model->config = NULL;
  model->has_set = false;
}

/* ---- its class */

static bool has_class(const Model *model, const char *class) {
  const json_t *list = json_object_get(model->config, "architectures"), *item;
  size_t i;
  json_array_foreach((json_t *)list, i,
                     item) if (json_is_string(item) &&
                               strcmp(json_string_value(item), class) == 0) return true;
  return false;
}

/* With what a model file returned: leaves the text of huggingface.class, or nil. */
static int push_class(lua_State *L) {
  if (!lua_istable(L, 1) || lua_getfield(L, 1, "huggingface") != LUA_TTABLE ||
      lua_getfield(L, -1, "class") != LUA_TSTRING)
    lua_pushnil(L);
  return 1;
}

static const char *class_of_file(Model *model, const char *path) {
  const char *class = NULL;
  if (!sandbox_run_file(model->compile, model->L, path, head_at(model))) return NULL;
  lua_pushcfunction(model->L, push_class);
  lua_insert(model->L, -2);
  if (!sandbox_call(model->compile, model->L, 1, (Span){.file = path})) return NULL;
  if (lua_isstring(model->L, -1))
    class = arena_copy(model->compile->arena, lua_tostring(model->L, -1));
  lua_pop(model->L, 1);
  return class;
}

static const char *classes_text(const Model *model) {
  Arena *arena = model->compile->arena;
  const char *text = "";
  const json_t *list = json_object_get(model->config, "architectures"), *item;
  size_t i;
  json_array_foreach((json_t *)list, i, item) text =
      arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "",
                   json_is_string(item) ? text_show(arena, json_string_value(item)) : "?");
  return text;
}

const char *folder_family(Model *model) {
  Compile *c = model->compile;
  const char *folder = arena_printf(c->arena, "%s/models", c->specs_dir ? c->specs_dir : "specs");
  const char *known = "";
  const Span at = {.file = model->config_path};
  if (json_array_size(json_object_get(model->config, "architectures")) == 0) {
    error_at(c, at, "model-folder",
             "it has no \"architectures\": [\"CLASS\"], so nothing says what model this is");
    return NULL;
  }
  TextList names = library_names(c, folder);
  for (int32_t i = 0; i < names.count; i++) {
    const char *class =
        class_of_file(model, arena_printf(c->arena, "%s/%s.lua", folder, names.at[i]));
    if (compile_failed(c)) return NULL;
    if (class == NULL) continue;
    if (has_class(model, class)) return names.at[i];
    known = arena_printf(c->arena, "%s%s%s", known, *known ? ", " : "", class);
  }
  error_at(c, at, "model-folder", "it is a model of class %s; the library has %s",
           classes_text(model), known);
  note_at(
      c, (Span){0},
      "a model file of your own may name the class: model = { \"./mine.lua\", weights = \"%s\" }",
      model->folder);
  return NULL;
}

bool folder_check_class(Model *model) {
  if (has_class(model, model->huggingface->class)) return true;
  return error_at(model->compile, (Span){.file = model->config_path}, "model-folder",
                  "it is a model of class %s, and %s is of class %s", classes_text(model),
                  library_text(model->compile, model->huggingface->path),
                  model->huggingface->class);
}
