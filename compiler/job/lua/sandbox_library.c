/* sandbox_library.c -- what a sandboxed file may use.
 *
 * The file's _ENV is an empty table; reads continue to the table of names (registry key "env"), and
 * from there, when absent, to an error. So no name can be replaced, not even math, and no typo
 * reads as nil. */
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "compiler/job/lua/sandbox_state.h"

static int refuse_member(lua_State *L) {
  return sandbox_error(L, "global", NULL, "math and string cannot be changed");
}

/* ---- functions that would show an address */

static bool shows_address(lua_State *L, int at) {
  int type = lua_type(L, at);
  if (type != LUA_TTABLE && type != LUA_TFUNCTION && type != LUA_TUSERDATA &&
      type != LUA_TLIGHTUSERDATA && type != LUA_TTHREAD)
    return false;
  if (luaL_getmetafield(L, at, "__tostring") == LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

static int safe_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  if (shows_address(L, 1))
    lua_pushstring(L, luaL_typename(L, 1));
  else
    luaL_tolstring(L, 1, NULL);
  return 1;
}

/* upvalue 1: Lua's string.format. */
static int safe_format(lua_State *L) {
  const char *format = luaL_checkstring(L, 1);
  for (const char *p = format; (p = strchr(p, '%')) != NULL; p++) {
    p++;
    p += strspn(p, "-+ #0123456789.");
    if (*p == 'p') return luaL_error(L, "format: %%p would differ between runs");
    if (*p == 0) break;
  }
  for (int i = 2; i <= lua_gettop(L); i++)
    if (shows_address(L, i)) {
      lua_pushstring(L, luaL_typename(L, i));
      lua_replace(L, i);
    }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/* upvalue 1: Lua's string.rep, which would reserve the whole result first. */
static int safe_rep(lua_State *L) {
  size_t length, between = 0;
  luaL_checklstring(L, 1, &length);
  lua_Integer count = luaL_checkinteger(L, 2);
  luaL_optlstring(L, 3, "", &between);
  if (count > 0 && (lua_Integer)((length + between) > 0) &&
      count > (lua_Integer)(SANDBOX_TEXT_BYTES / (length + between)))
    return sandbox_error(L, "limit", NULL, "a text grew beyond 64 KiB");
  if (length + between == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  lua_settop(L, 3);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 3, 1);
  return 1;
}

/* ---- filling the environment */

/* Replaces the table of functions on top by an empty one that reads through to it and cannot be
 * written. */
static void seal(lua_State *L, lua_CFunction missing, lua_CFunction written, const char *name) {
  lua_createtable(L, 0, 1);
  lua_pushstring(L, name);
  lua_pushcclosure(L, missing, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, written);
  lua_setfield(L, -2, "__newindex");
  lua_setmetatable(L, -2);
  lua_remove(L, -2);
}

/* Pushes a table with some fields of the library that `open` makes. */
static void push_some(lua_State *L, const char *library, lua_CFunction open,
                      const char *const *names) {
  lua_pushcfunction(L, open);
  lua_pushstring(L, library);
  lua_call(L, 1, 1);
  lua_createtable(L, 0, 8);
  for (; *names; names++) {
    lua_getfield(L, -2, *names);
    lua_setfield(L, -2, *names);
  }
  lua_remove(L, -2);
}

static void wrap_field(lua_State *L, const char *name, lua_CFunction wrapper) {
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, wrapper, 1);
  lua_setfield(L, -2, name);
}

static void open_string(lua_State *L) {
  static const char *const functions[] = {"format", "rep", "sub", NULL};
  push_some(L, "string", luaopen_string, functions);
  wrap_field(L, "format", safe_format);
  wrap_field(L, "rep", safe_rep);
  seal(L, sandbox_member_missing, refuse_member, "string");
  lua_pushliteral(L, ""); /* ("x"):rep(n) sees the same three functions and no others */
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

void sandbox_open_library(lua_State *L) {
  static const char *const basics[] = {"ipairs", "type",  "tonumber", "select",
                                       "assert", "error", NULL};
  static const char *const maths[] = {"floor", "ceil", "min", "max", "sqrt", "huge", NULL};
  /* luaopen_base fills the globals table: a throw-away one here, replaced by the sealed names
   * below. */
  push_some(L, "_G", luaopen_base, basics);
  lua_newtable(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "env");
  for (const char *const *name = basics; *name; name++) {
    lua_getfield(L, -1, *name);
    sandbox_add_value(L, *name);
  }
  lua_pop(L, 1);
  sandbox_add_function(L, "tostring", safe_tostring);
  push_some(L, "math", luaopen_math, maths);
  seal(L, sandbox_member_missing, refuse_member, "math");
  sandbox_add_value(L, "math");
  open_string(L);
  sandbox_add_value(L, "string");

  lua_getfield(L, LUA_REGISTRYINDEX, "env");
  seal(L, sandbox_name_missing, sandbox_name_assigned, "env");
  lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

void sandbox_add_value(lua_State *L, const char *name) {
  Sandbox *sandbox = sandbox_of(L);
  VEC_PUSH(sandbox->c->arena, &sandbox->names, arena_copy(sandbox->c->arena, name));
  lua_getfield(L, LUA_REGISTRYINDEX, "env");
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

void sandbox_add_function(lua_State *L, const char *name, lua_CFunction function) {
  lua_pushcfunction(L, function);
  sandbox_add_value(L, name);
}
