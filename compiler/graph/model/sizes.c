/* sizes.c -- the sizes of a family: a value in the job comes before one in a preset, and that
 * before the family's default; functions are called last. */
#include <math.h>
#include <string.h>

#include "compiler/graph/model/trace.h"

Size *sizes_find(const Model *model, const char *name) {
  for (int32_t i = 0; i < model->sizes.count; i++)
    if (strcmp(model->sizes.at[i].name, name) == 0) return &model->sizes.at[i];
  return NULL;
}

const char *sizes_nearest(Model *model, const char *name) {
  int32_t count = model->sizes.count;
  const char **words = ARENA_ARRAY(model->compile->arena, const char *, count + 2);
  for (int32_t i = 0; i < count; i++)
    words[i] = model->sizes.at[i].name;
  words[count++] = "batch";
  words[count++] = "seq";
  return nearest_word(name, words, count);
}

bool sizes_read(lua_State *L, int index, ModelSize *out) {
  switch (lua_type(L, index)) {
  case LUA_TNUMBER:
    out->kind = SIZE_NUMBER;
    out->number = lua_tonumber(L, index);
    return isfinite(out->number);
  case LUA_TBOOLEAN:
    out->kind = SIZE_FLAG;
    out->number = lua_toboolean(L, index);
    return true;
  case LUA_TSTRING:
    out->kind = SIZE_TEXT;
    out->text = lua_tostring(L, index);
    return true;
  default: return false;
  }
}

const char *sizes_text(Model *model, const ModelSize *size) {
  Arena *arena = model->compile->arena;
  switch (size->kind) {
  case SIZE_NUMBER: return arena_printf(arena, "%.14g", size->number);
  case SIZE_FLAG: return size->number != 0 ? "true" : "false";
  case SIZE_TEXT: return arena_printf(arena, "\"%.40s\"", size->text);
  }
  return "";
}

/* ---- merging */

static Span place_of(Model *model, const ModelSize *setting) {
  Span span = setting->origin.span;
  return span.file != NULL && span.line == 0 ? key_place(model, span.file, setting->name) : span;
}

static const char *list_names(Model *model) {
  Arena *arena = model->compile->arena;
  const char *text = "";
  for (int32_t i = 0; i < model->sizes.count; i++)
    text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", model->sizes.at[i].name);
  return text;
}

static void report_unknown(Model *model, const ModelSize *setting) {
  Compile *c = model->compile;
  const char *near = sizes_nearest(model, setting->name);
  bool reserved = strcmp(setting->name, "batch") == 0 || strcmp(setting->name, "seq") == 0;
  if (near != NULL && sizes_find(model, near) == NULL) near = NULL;
  error_at(c, place_of(model, setting), "unknown-size", "model.%s: no such size; %s%s%s",
           setting->name,
           reserved ? "the job says it in train"
           : near   ? "did you mean '"
                    : arena_printf(c->arena, "the model has %s", list_names(model)),
           near && !reserved ? near : "", near && !reserved ? "'?" : "");
  if (reserved)
    fix_last(c,
             strcmp(setting->name, "seq") == 0 ? "train = { context = %s }"
                                               : "train = { microbatch = %s }",
             sizes_text(model, setting));
  else if (near != NULL) {
    fix_last(c, "%s = %s", near, sizes_text(model, setting));
    Size *meant = sizes_find(model, near);
    if (meant->state == SIZE_REQUIRED) meant->state = SIZE_READY; /* one slip, one error */
  }
}

static bool check_kind(Model *model, const Size *size, const ModelSize *setting) {
  static const char *const kinds[] = {"a number", "true or false", "a text"};
  if (size->state == SIZE_FUNCTION) return true; /* its kind is known only after the call */
  if (size->is.kind == setting->kind) return true;
  Compile *c = model->compile;
  error_at(c, place_of(model, setting), "wrong-size", "model.%s: expected %s; got %s",
           setting->name, kinds[size->is.kind], sizes_text(model, setting));
  return false;
}

static bool report_missing(Model *model) {
  Compile *c = model->compile;
  const char *names = "",
             *fix = arena_printf(c->arena, "model = { \"%s\"", model->job->model.head_text);
  for (int32_t i = 0; i < model->sizes.count; i++) {
    const Size *size = &model->sizes.at[i];
    if (size->state != SIZE_REQUIRED) continue;
    names = arena_printf(c->arena, "%s%s%s", names, *names ? ", " : "", size->name);
    fix = arena_printf(c->arena, "%s, %s = N", fix, size->name);
  }
  if (*names == '\0') return true;
  error_at(c, model->job->model.head_origin.span, "missing-size", "model: '%s' requires %s",
           model->name, names);
  fix_last(c, "%s }", fix);
  return false;
}

bool sizes_merge(Model *model, const ModelSize *settings, int32_t count) {
  bool good = true;
  for (int32_t i = 0; i < count; i++) {
    Size *size = sizes_find(model, settings[i].name);
    if (size == NULL) {
      report_unknown(model, &settings[i]);
      good = false;
    } else if (!check_kind(model, size, &settings[i])) {
      good = false;
      size->overridden = true;
      size->state = SIZE_READY;
    } else if (!size->overridden) {
      size->overridden = true;
      size->state = SIZE_READY;
      const char *name = size->name;
      size->is = settings[i];
      size->is.name = name;
    }
  }
  return report_missing(model) && good;
}

/* ---- sizes computed from others */

static const char *cycle_text(const Model *model, const Size *again) {
  Arena *arena = model->compile->arena;
  const char *text = "";
  bool inside = false;
  for (int32_t i = 0; i < model->running.count; i++) {
    const Size *size = &model->sizes.at[model->running.at[i]];
    inside = inside || size == again;
    if (inside) text = arena_printf(arena, "%s%s needs ", text, size->name);
  }
  return arena_printf(arena, "%s%s", text, again->name);
}

/* Calls the size's function with m, whose __index computes the sizes that it reads. */
static void fill(Model *model, lua_State *L, Size *size) {
  if (size->state == SIZE_READY || size->state == SIZE_REQUIRED) return;
  if (size->state == SIZE_RUNNING)
    sandbox_error(L, "size-cycle", NULL, "sizes: %s: a cycle", cycle_text(model, size));
  size->state = SIZE_RUNNING;
  VEC_PUSH(model->compile->arena, &model->running, (int32_t)(size - model->sizes.at));
  luaL_checkstack(L, 4, "sizes");
  lua_rawgeti(L, LUA_REGISTRYINDEX, size->function);
  lua_rawgeti(L, LUA_REGISTRYINDEX, model->m);
  lua_call(L, 1, 1);
  if (!sizes_read(L, -1, &size->is)) {
    const char *key = arena_printf(model->compile->arena, "sizes.%s", size->name);
    error_at(model->compile, key_place(model, model->family_path, key), "wrong-size",
             "%s: the function returns a number, true or false, or a text; this one a %s", key,
             luaL_typename(L, -1));
    sandbox_error(L, NULL, NULL, "unwind: it is reported");
  }
  if (size->is.kind == SIZE_TEXT) size->is.text = arena_copy(model->compile->arena, size->is.text);
  lua_pop(L, 1);
  model->running.count--;
  size->state = SIZE_READY;
}

static void push_size(lua_State *L, const ModelSize *size) {
  double n = size->number;
  if (size->kind == SIZE_TEXT)
    lua_pushstring(L, size->text);
  else if (size->kind == SIZE_FLAG)
    lua_pushboolean(L, n != 0);
  else if (n == floor(n) && fabs(n) < 0x1p53)
    lua_pushinteger(L, (lua_Integer)n); /* so that // and % give integers */
  else
    lua_pushnumber(L, n);
}

/* Remembers what was read, so that an error can say where its numbers come from. */
static void remember_read(Model *model, Size *size) {
  Arena *arena = model->compile->arena;
  int32_t index = (int32_t)(size - model->sizes.at);
  bool is_running = model->running.count > 0;
  if (is_running) {
    Size *reader = &model->sizes.at[model->running.at[model->running.count - 1]];
    VEC_PUSH(arena, &reader->from, index);
  } else {
    size->is_read = true;
    if (model->reads.count < READS_MAX) VEC_PUSH(arena, &model->reads, index);
  }
}

/* m.name */
static int read_size(lua_State *L) {
  Model *model = lua_touserdata(L, lua_upvalueindex(1));
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
  bool is_batch = strcmp(name, "batch") == 0, is_seq = strcmp(name, "seq") == 0;
  if (is_batch || is_seq) {
    if (model->trace == NULL)
      return sandbox_error(L, "unknown-size", NULL,
                           "m.%s is known only in forward: the job says it", name);
    lua_pushinteger(L, is_batch ? model->trace->microbatch : model->trace->context);
    return 1;
  }
  Size *size = sizes_find(model, name);
  if (size == NULL) {
    const char *near = sizes_nearest(model, name);
    const char *fix = near ? arena_printf(model->compile->arena, "m.%s", near) : NULL;
    return sandbox_error(L, "unknown-size", fix, "m.%.40s: no such size%s%s%s", name,
                         near ? "; did you mean '" : "; sizes are declared in sizes = { ... }",
                         near ? near : "", near ? "'?" : "");
  }
  remember_read(model, size);
  fill(model, L, size);
  push_size(L, &size->is);
  return 1;
}

static int refuse_write(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
  return sandbox_error(L, "global", NULL, "m.%.40s: sizes are not changed while the model is read",
                       name);
}

void sizes_push_table(Model *model, lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 2);
  lua_pushlightuserdata(L, model);
  lua_pushcclosure(L, read_size, 1);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, refuse_write);
  lua_setfield(L, -2, "__newindex");
  lua_setmetatable(L, -2);
}

static int fill_all(lua_State *L) {
  Model *model = lua_touserdata(L, 1);
  for (int32_t i = 0; i < model->sizes.count; i++)
    fill(model, L, &model->sizes.at[i]);
  return 0;
}

bool sizes_fill(Model *model) {
  lua_pushcfunction(model->L, fill_all);
  lua_pushlightuserdata(model->L, model);
  if (!sandbox_call(model->compile, model->L, 1, model->family_at)) {
    if (model->running.count == 0) return false;
    const Size *failed = &model->sizes.at[model->running.at[model->running.count - 1]];
    blame_rule(model, failed->from.at, failed->from.count);
    return false;
  }
  lua_pop(model->L, 1);
  return true;
}
