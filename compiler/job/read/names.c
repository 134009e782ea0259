/* names.c -- runs a page of names for one parameter after another. */
#include "compiler/job/names.h"

#include <fnmatch.h>
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "compiler/job/lua/sandbox.h"
#include "compiler/job/paths.h"

static const char *const page_keys[] = {"state", "ignore", "tensor"};
static const char *const answer_keys[] = {"view", "take", "order", "rest"};
enum { PAGE = 1, SHAPES = 2, IGNORE_MAX = 1024 };

struct NamesPage {
  Compile *c;
  lua_State *L; /* the page at 1, the shapes at 2 */
  const char *path;
};

static bool refuse(const NamesPage *page, const char *name, const char *what) {
  return error_at(page->c, (Span){.file = page->path}, "not-a-names-page", "%s%s%s", name,
                  *name != '\0' ? ": " : "", what);
}

/* Refuses a key of the table at `at` that is not one of the names; `first`: it may have [1]. */
static bool knows_keys(const NamesPage *page, const char *name, int at, bool first,
                       const char *const *names, int32_t count) {
  lua_State *L = page->L;
  for (lua_pushnil(L); lua_next(L, at) != 0; lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    bool is_known = first && key == NULL && lua_tonumber(L, -2) == 1;
    for (int32_t i = 0; key != NULL && !is_known && i < count; i++)
      is_known = strcmp(key, names[i]) == 0;
    if (is_known) continue;
    key = key != NULL ? text_show(page->c->arena, key) : "an item that has no name";
    return refuse(page, name, arena_printf(page->c->arena, "`%s` is no key of a page", key));
  }
  return true;
}

static void push_sizes(lua_State *L, const int64_t *size, int32_t dims) {
  lua_createtable(L, dims, 0);
  for (int32_t i = 0; i < dims; i++) {
    lua_pushinteger(L, size[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* theirs("NAME"): upvalue 1 has the facts. */
static int push_theirs(lua_State *L) {
  const NamesFacts *facts = lua_touserdata(L, lua_upvalueindex(1));
  const char *name = luaL_checkstring(L, 1);
  int64_t size[NAMES_DIMS_MAX];
  const int32_t dims = facts->sizes(facts->user, name, size);
  if (dims < 0) return luaL_error(L, "the folder has no tensor %s", name);
  push_sizes(L, size, dims);
  return 1;
}

NamesPage *names_open(Compile *c, const char *name, const NamesFacts *facts) {
  const char *path = sandbox_find(c, "names", name, ".", (Span){0});
  if (!path) return NULL;
  NamesPage *page = ARENA_NEW(c->arena, NamesPage);
  *page = (NamesPage){c, sandbox_open(c), path};
  lua_State *L = page->L;
  lua_pushlightuserdata(L, (void *)(uintptr_t)facts);
  lua_pushcclosure(L, push_theirs, 1);
  sandbox_add_value(L, "theirs");
  bool is_good = sandbox_run_file(c, L, path, (Span){0});
  if (is_good && !lua_istable(L, PAGE)) is_good = refuse(page, "", "the file returns no table");
  if (is_good && lua_getfield(L, PAGE, "tensor") != LUA_TFUNCTION)
    is_good = refuse(page, "", "its `tensor` is no function");
  is_good = is_good && knows_keys(page, "", PAGE, false, page_keys, 3);
  if (!is_good) {
    sandbox_close(L);
    return NULL;
  }
  lua_settop(L, PAGE);
  lua_createtable(L, 0, facts->count + 1);
  for (int32_t i = 0; i < facts->count; i++) {
    push_sizes(L, facts->all[i].shape, facts->all[i].dims);
    lua_setfield(L, SHAPES, facts->all[i].name);
  }
  lua_pushinteger(L, facts->layers);
  lua_setfield(L, SHAPES, "layers");
  return page;
}

void names_close(NamesPage *page) {
  if (page) sandbox_close(page->L);
}

/* ---- an answer, on top of the stack */

/* The numbers of a list; -1: it is none. */
static int32_t read_list(lua_State *L, int64_t *to, int32_t most) {
  const lua_Unsigned count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
  if (count < 1 || count > (lua_Unsigned)most) return -1;
  for (int32_t i = 0; i < (int32_t)count; i++) {
    int is_integer;
    lua_rawgeti(L, -1, i + 1);
    to[i] = lua_tointegerx(L, -1, &is_integer);
    lua_pop(L, 1);
    if (!is_integer) return -1;
  }
  return (int32_t)count;
}

/* take = { { dim, first, count }, ... } */
static bool read_takes(lua_State *L, NamesPlace *place) {
  bool is_good = true;
  const lua_Unsigned count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
  for (lua_Unsigned i = 1; i <= count && is_good; i++) {
    int64_t take[3];
    lua_rawgeti(L, -1, (lua_Integer)i);
    is_good = read_list(L, take, 3) == 3 && take[0] >= 1 && take[0] <= place->dims &&
              take[1] >= 0 && take[2] >= 1 && take[1] <= place->size[take[0] - 1] &&
              take[2] <= place->size[take[0] - 1] - take[1];
    if (is_good) place->first[take[0] - 1] = take[1], place->count[take[0] - 1] = take[2];
    lua_pop(L, 1);
  }
  return is_good && count > 0;
}

static bool read_order(lua_State *L, NamesPlace *place) {
  int64_t order[NAMES_DIMS_MAX];
  uint32_t seen = 0;
  if (read_list(L, order, NAMES_DIMS_MAX) != place->dims) return false;
  for (int32_t i = 0; i < place->dims; i++) {
    if (order[i] < 1 || order[i] > place->dims || (seen >> order[i] & 1u) != 0) return false;
    seen |= 1u << order[i];
    place->order[i] = (int32_t)order[i] - 1;
  }
  return true;
}

static bool read_view(NamesPage *page, const char *name, NamesPlace *place) {
  lua_State *L = page->L;
  lua_getfield(L, -1, "view");
  const int32_t dims = lua_isnil(L, -1) ? 0 : read_list(L, place->size, NAMES_DIMS_MAX);
  lua_pop(L, 1);
  if (dims < 0) return refuse(page, name, "`view` is a list of 1 to 8 sizes");
  place->dims = dims;
  for (int32_t i = 0; i < dims; i++) {
    if (place->size[i] < 1) return refuse(page, name, "a size of `view` is below 1");
    place->count[i] = place->size[i];
    place->order[i] = i;
  }
  lua_getfield(L, -1, "take");
  if (!lua_isnil(L, -1) && !read_takes(L, place))
    return refuse(page, name, "`take` is a list of { dim, first, count } within the view");
  lua_pop(L, 1);
  lua_getfield(L, -1, "order");
  if (!lua_isnil(L, -1) && !read_order(L, place))
    return refuse(page, name, "`order` has each dim of the view once");
  lua_pop(L, 1);
  return true;
}

static bool read_answer(NamesPage *page, const char *name, NamesPlace *place) {
  lua_State *L = page->L;
  const char *tensor = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  *place = (NamesPlace){0};
  if (lua_isnil(L, -1))
    return refuse(page, name, "the page says of no tensor that it is this parameter");
  if (lua_istable(L, -1)) {
    if (!knows_keys(page, name, lua_gettop(L), true, answer_keys, 4)) return false;
    lua_rawgeti(L, -1, 1);
    if (lua_type(L, -1) == LUA_TSTRING) tensor = arena_copy(page->c->arena, lua_tostring(L, -1));
    lua_pop(L, 1);
    if (!read_view(page, name, place)) return false;
    lua_getfield(L, -1, "rest");
    const char *rest = lua_tostring(L, -1);
    place->is_padded = rest != NULL && strcmp(rest, "padding") == 0;
    if (!lua_isnil(L, -1) && !place->is_padded) return refuse(page, name, "`rest` is \"padding\"");
    lua_pop(L, 1);
  }
  if (!tensor) return refuse(page, name, "the answer is no name, nor a table that begins with one");
  place->tensor = arena_copy(page->c->arena, tensor);
  return true;
}

bool names_place(NamesPage *page, const NamesParameter *parameter, NamesPlace *place) {
  lua_State *L = page->L;
  lua_settop(L, SHAPES);
  sandbox_renew(L);
  lua_getfield(L, PAGE, "tensor");
  lua_createtable(L, 0, 3);
  lua_pushstring(L, parameter->name);
  lua_setfield(L, -2, "name");
  push_sizes(L, parameter->shape, parameter->dims);
  lua_setfield(L, -2, "shape");
  if (parameter->layer >= 0) {
    lua_pushinteger(L, parameter->layer);
    lua_setfield(L, -2, "layer");
  }
  lua_pushvalue(L, SHAPES);
  return sandbox_call(page->c, L, 2, (Span){.file = page->path}) &&
         read_answer(page, parameter->name, place);
}

const char *names_state(NamesPage *page, const char *kind, const char *tensor) {
  lua_State *L = page->L;
  const char *name = NULL;
  lua_settop(L, SHAPES);
  if (lua_getfield(L, PAGE, "state") == LUA_TTABLE && lua_getfield(L, -1, kind) == LUA_TSTRING) {
    const char *pattern = lua_tostring(L, -1), *at = strstr(pattern, "%s");
    if (at != NULL)
      name = arena_printf(page->c->arena, "%.*s%s%s", (int)(at - pattern), pattern, tensor, at + 2);
  }
  lua_settop(L, SHAPES);
  return name;
}

bool names_ignores(NamesPage *page, const char *tensor) {
  lua_State *L = page->L;
  bool ignores = false;
  lua_settop(L, SHAPES);
  const bool is_list = lua_getfield(L, PAGE, "ignore") == LUA_TTABLE;
  for (int32_t i = 1; is_list && !ignores && i <= IGNORE_MAX; i++) {
    const int kind = lua_rawgeti(L, -1, i);
    ignores = kind == LUA_TSTRING && fnmatch(lua_tostring(L, -1), tensor, 0) == 0;
    lua_pop(L, 1);
    if (kind == LUA_TNIL) break;
  }
  lua_settop(L, SHAPES);
  return ignores;
}
