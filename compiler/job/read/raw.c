/* raw.c -- values copied out of Lua as they were written, so that nothing after this file touches
 * Lua. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/job/job_room.h"
#include "compiler/job/lua/sandbox_state.h"

enum { DEEPEST = 8, LONGEST_LIST = 100000 };

static Raw *raw_new(Arena *arena, RawKind kind) {
  Raw *raw = ARENA_NEW(arena, Raw);
  raw->kind = kind;
  return raw;
}

static Raw *raw_other(Arena *arena, const char *what) {
  Raw *raw = raw_new(arena, RAW_OTHER);
  raw->text = what;
  return raw;
}

static Raw *raw_text(Arena *arena, lua_State *L, int index) {
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  if (strlen(text) != length) return raw_other(arena, "a text with a zero byte");
  if (text_find_bad(text, text + length)) return raw_other(arena, "a text that is not UTF-8");
  Raw *raw = raw_new(arena, RAW_TEXT);
  raw->text = arena_copy(arena, text);
  return raw;
}

static int compare_entries(const void *a, const void *b) {
  return strcmp(((const RawEntry *)a)->key, ((const RawEntry *)b)->key);
}

static Raw *read_value(Arena *arena, lua_State *L, int index, int depth);

/* Lua walks a table in an order that differs between runs: named entries are sorted. */
static Raw *read_table(Arena *arena, lua_State *L, int index, int depth) {
  if (depth >= DEEPEST) return raw_other(arena, "a table inside too many tables");
  if (!lua_checkstack(L, 8)) return raw_other(arena, "a table inside too many tables");
  Raw *raw = raw_new(arena, RAW_TABLE);
  lua_Unsigned items = lua_rawlen(L, index);
  if (items > LONGEST_LIST) return raw_other(arena, "a list of more than 100,000 items");
  for (lua_Unsigned i = 1; i <= items; i++) {
    lua_rawgeti(L, index, (lua_Integer)i);
    VEC_PUSH(arena, &raw->list, read_value(arena, L, lua_gettop(L), depth + 1));
    lua_pop(L, 1);
  }
  lua_pushnil(L);
  while (lua_next(L, index)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      RawEntry entry = {arena_copy(arena, lua_tostring(L, -2)),
                        read_value(arena, L, lua_gettop(L), depth + 1)};
      if (raw->named.count < LONGEST_LIST) VEC_PUSH(arena, &raw->named, entry);
    } else if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 ||
               (lua_Unsigned)lua_tointeger(L, -2) > items) {
      bool is_number = lua_type(L, -2) == LUA_TNUMBER;
      raw->bad_key = is_number ? arena_printf(arena, "[%.14g]", lua_tonumber(L, -2))
                               : arena_printf(arena, "[%s]", lua_typename(L, lua_type(L, -2)));
    }
    lua_pop(L, 1);
    if (raw->bad_key) { /* one error is enough, and such keys may be slow to walk */
      lua_pop(L, 1);
      break;
    }
  }
  if (raw->named.count > 1)
    qsort(raw->named.at, (size_t)raw->named.count, sizeof *raw->named.at, compare_entries);
  return raw;
}

static Raw *read_value(Arena *arena, lua_State *L, int index, int depth) {
  Raw *raw;
  switch (lua_type(L, index)) {
  case LUA_TNUMBER:
    raw = raw_new(arena, RAW_NUMBER);
    raw->number = lua_tonumber(L, index);
    return raw;
  case LUA_TBOOLEAN:
    raw = raw_new(arena, RAW_FLAG);
    raw->number = lua_toboolean(L, index);
    return raw;
  case LUA_TSTRING: return raw_text(arena, L, index);
  case LUA_TTABLE: return read_table(arena, L, index, depth);
  default:
    return raw_other(arena, arena_printf(arena, "a %s", lua_typename(L, lua_type(L, index))));
  }
}

Raw *raw_read(Arena *arena, lua_State *L, int index) {
  return read_value(arena, L, lua_absindex(L, index), 0);
}

Raw *raw_typed(Arena *arena, const char *text) {
  Raw *raw = raw_new(arena, RAW_TEXT);
  raw->is_typed = true;
  raw->text = arena_copy(arena, text);
  return raw;
}

/* ---- for messages */

const char *text_show(Arena *arena, const char *text) {
  enum { SHOWN_BYTES = 48 };
  char *shown = arena_copy_n(arena, text, strnlen(text, SHOWN_BYTES));
  for (char *p = shown; *p; p++)
    if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
  size_t length = strlen(shown); /* neither half of a UTF-8 letter nor a byte that is not one */
  const char *bad = text_find_bad(shown, shown + length);
  if (bad) shown[length = (size_t)(bad - shown)] = 0;
  return strlen(text) > length ? arena_printf(arena, "%s...", shown) : shown;
}

const char *raw_show(Arena *arena, const Raw *raw) {
  switch (raw->kind) {
  case RAW_NUMBER:
    if (isnan(raw->number)) return "not a number (0/0)";
    if (isinf(raw->number)) return raw->number > 0 ? "infinity" : "-infinity";
    return arena_printf(arena, "%.15g", raw->number);
  case RAW_FLAG: return raw->number != 0 ? "true" : "false";
  case RAW_TEXT: return arena_printf(arena, "\"%s\"", text_show(arena, raw->text));
  case RAW_TABLE: return raw->named.count + raw->list.count == 0 ? "an empty table" : "a table";
  case RAW_OTHER: return raw->text;
  }
  return "";
}

static bool is_name(const char *text) {
  if (!isalpha((unsigned char)*text) && *text != '_') return false;
  for (; *text; text++)
    if (!isalnum((unsigned char)*text) && *text != '_') return false;
  return true;
}

static const char *write_table(Arena *arena, const Raw *raw) {
  const char *text = "{";
  for (int32_t i = 0; text && i < raw->list.count; i++) {
    const char *item = raw_write(arena, raw->list.at[i]);
    text = item ? arena_printf(arena, "%s%s %s", text, i > 0 ? "," : "", item) : NULL;
  }
  for (int32_t i = 0; text && i < raw->named.count; i++) {
    const char *item = raw_write(arena, raw->named.at[i].value);
    const char *comma = i + raw->list.count > 0 ? "," : "";
    bool is_good = item && is_name(raw->named.at[i].key);
    text = is_good ? arena_printf(arena, "%s%s %s = %s", text, comma, raw->named.at[i].key, item)
                   : NULL;
  }
  return text ? arena_printf(arena, "%s }", text) : NULL;
}

const char *raw_write(Arena *arena, const Raw *raw) {
  enum { LONGEST = 80 };
  const char *text = NULL;
  if (raw->kind == RAW_NUMBER && isfinite(raw->number))
    text = arena_printf(arena, "%.15g", raw->number);
  if (raw->kind == RAW_FLAG) text = raw->number != 0 ? "true" : "false";
  if (raw->kind == RAW_TEXT && !strpbrk(raw->text, "\"\\\n"))
    text = raw->is_typed ? raw->text : arena_printf(arena, "\"%s\"", raw->text);
  if (raw->kind == RAW_TABLE && !raw->bad_key && raw->list.count + raw->named.count <= 8)
    text = write_table(arena, raw);
  return text && strlen(text) <= LONGEST ? text : NULL;
}
