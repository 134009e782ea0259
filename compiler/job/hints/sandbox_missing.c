/* sandbox_missing.c -- what the message about a name that does not exist says: another language's
 * word, a slip, a text without quotes, a function defined below its use. */
#include <ctype.h>
#include <lauxlib.h>
#include <string.h>

#include "compiler/job/hints/foreign.h"

typedef struct MissingFunction {
  const char *name, *reason, *fix;
} MissingFunction;

#define NO_ORDER "its order differs between runs, a plan must not; walk a list with ipairs"
#define ENDS     "an error ends the file, so that its place is shown"
#define BASE     "a job file starts from another one with job { \"./base.lua\", ... }"
#define PLAIN    "tables in a job file are plain"
#define VALUE    "a job file is a value, computed once"
#define PATTERNS "text patterns have no time limit, so they are absent"
#define SEED     "numbers come from train.seed alone: same text, same plan"
#define NOTHING  "the word is nil, or \"none\" where a key takes it"
#define INFINITE "keys take finite numbers; leave the key out where there is no limit"

/* Names of Lua and of other languages that people reach for. */
static const MissingFunction absents[] = {
    {"pairs", NO_ORDER, NULL},
    {"next", NO_ORDER, NULL},
    {"pcall", ENDS, NULL},
    {"xpcall", ENDS, NULL},
    {"require", BASE, NULL},
    {"dofile", BASE, NULL},
    {"loadfile", BASE, NULL},
    {"load", "a job file is text that is read once", NULL},
    {"io", "a job file reads and writes nothing: same text, same plan", NULL},
    {"os", "a job file knows neither clock nor environment: same text, same plan", NULL},
    {"print", "a job file prints nothing; lockstep explain shows every value", NULL},
    {"setmetatable", PLAIN, NULL},
    {"getmetatable", PLAIN, NULL},
    {"rawget", PLAIN, NULL},
    {"rawset", PLAIN, NULL},
    {"coroutine", VALUE, NULL},
    {"debug", VALUE, NULL},
    {"table", "write lists with { a, b, c }; list[#list + 1] = x adds to one", NULL},
    {"utf8", "texts are used as they are", NULL},
    {"collectgarbage", "memory is limited, not managed", NULL},
    {"_G", "there are no globals", NULL},
    {"match", PATTERNS, NULL},
    {"gmatch", PATTERNS, NULL},
    {"gsub", PATTERNS, NULL},
    {"find", PATTERNS, NULL},
    {"random", SEED, NULL},
    {"randomseed", SEED, NULL},
    {"pow", "write x^y", NULL},
    {"nil", "", NULL},
    {"None", NOTHING, "nil"},
    {"null", NOTHING, "nil"},
    {"NULL", NOTHING, "nil"},
    {"undefined", NOTHING, "nil"},
    {"True", "the word is true", "true"},
    {"TRUE", "the word is true", "true"},
    {"yes", "the word is true", "true"},
    {"on", "the word is true", "true"},
    {"False", "the word is false", "false"},
    {"FALSE", "the word is false", "false"},
    {"no", "the word is false", "false"},
    {"off", "the word is false", "false"},
    {"nan", INFINITE, NULL},
    {"NaN", INFINITE, NULL},
    {"inf", INFINITE, NULL},
    {"Infinity", INFINITE, NULL},
    {"float", "numbers need no conversion; tonumber(text) reads one from a text", NULL},
    {"int", "math.floor(x) is the whole part of a number", "math.floor"},
    {"max", "math has it", "math.max"},
    {"min", "math has it", "math.min"},
    {"floor", "math has it", "math.floor"},
    {"ceil", "math has it", "math.ceil"},
    {"sqrt", "math has it", "math.sqrt"},
    {"format", "string has it", "string.format"},
    {"round", "math.floor(x + 0.5) is the nearest whole number", NULL},
    {"str", "tostring(x) makes a text", "tostring"},
    {"len", "#list is the length of a list or a text", NULL},
    {"range", "for i = 1, n do ... end counts", NULL},
    {"dict", "a table is { key = value }", NULL},
    {"this", "values go into local variables", NULL},
};

static const MissingFunction *find_absent(const char *name) {
  for (size_t i = 0; i < sizeof absents / sizeof *absents; i++)
    if (strcmp(absents[i].name, name) == 0) return &absents[i];
  return NULL;
}

/* ---- where the name is */

typedef struct WordUse {
  const Source *source; /* NULL: unknown */
  Span span;
  const char *text; /* the name in the source, NULL: not found */
  const char *line; /* the line that it is on */
} WordUse;

static bool is_word_byte(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_text(const char *p) {
  char quote = *p++;
  while (*p && *p != quote && *p != '\n')
    p += *p == '\\' && p[1] ? 2 : 1;
  return *p == quote ? p + 1 : p;
}

/* The word on its line where it is read: not in a text, and not as the key of a value. */
static const char *find_use(const char *line, const char *name) {
  size_t length = strlen(name);
  for (const char *p = line; *p && *p != '\n';) {
    if (*p == '"' || *p == '\'') {
      p = skip_text(p);
      continue;
    }
    if (p[0] == '-' && p[1] == '-') return NULL;
    bool is_start = is_word_byte(*p) && (p == line || !is_word_byte(p[-1]));
    if (is_start && strncmp(p, name, length) == 0 && !is_word_byte(p[length])) {
      const char *sign = p + length + strspn(p + length, " \t");
      bool is_member = p > line && p[-1] == '.' && !(p > line + 1 && p[-2] == '.');
      if (!is_member && (*sign != '=' || sign[1] == '=')) return p;
    }
    p++;
  }
  return NULL;
}

static WordUse use_of(lua_State *L, const char *name) {
  const Sandbox *sandbox = sandbox_of(L);
  WordUse use = {.span = sandbox_where(L)};
  for (int32_t i = 0; use.span.file && i < sandbox->sources.count; i++)
    if (sandbox->sources.at[i].path == use.span.file) use.source = &sandbox->sources.at[i];
  if (!use.source) return use;
  use.span = sandbox_word(use.source, use.span.line, name);
  use.line = use.source->text;
  for (int32_t line = use.span.line; use.line && line > 1; line--) {
    use.line = strchr(use.line, '\n');
    if (use.line) use.line++;
  }
  if (use.line) use.text = find_use(use.line, name);
  if (use.text) {
    use.span.column = (int32_t)(use.text - use.line) + 1;
    use.span.length = (int32_t)strlen(name);
  }
  return use;
}

/* ---- what was meant */

/* The nearest name of the language, or local variable of the function that reads it. */
static const char *nearest_name(lua_State *L, const char *name) {
  Sandbox *sandbox = sandbox_of(L);
  Arena *arena = sandbox->c->arena;
  VEC(const char *) words = {0};
  lua_Debug frame;
  bool has_frame = lua_getstack(L, 1, &frame) != 0;
  const char *known;
  for (int i = 1; has_frame && (known = lua_getlocal(L, &frame, i)) != NULL; i++) {
    if (*known != '(') VEC_PUSH(arena, &words, arena_copy(arena, known));
    lua_pop(L, 1);
  }
  if (has_frame && lua_getinfo(L, "f", &frame) != 0) {
    for (int i = 1; (known = lua_getupvalue(L, -1, i)) != NULL; i++) {
      if (strcmp(known, "_ENV") != 0) VEC_PUSH(arena, &words, arena_copy(arena, known));
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  for (int32_t i = 0; i < sandbox->names.count; i++)
    VEC_PUSH(arena, &words, sandbox->names.at[i]);
  return nearest_word(name, words.at, words.count);
}

static int32_t line_of_definition(const WordUse *use, const char *name) {
  int32_t line = 1;
  for (const char *p = use->source ? use->source->text : NULL; p && *p; line++) {
    const char *word = p + strspn(p, " \t");
    if (strncmp(word, "local ", 6) == 0) word += 6 + strspn(word + 6, " ");
    if (strncmp(word, "function ", 9) == 0) {
      word += 9 + strspn(word + 9, " ");
      size_t length = strlen(name);
      if (strncmp(word, name, length) == 0 && !is_word_byte(word[length])) return line;
    }
    p = strchr(p, '\n');
    if (p) p++;
  }
  return 0;
}

/* data/train.u8 without its quotes, or NULL. */
static const char *path_at(Arena *arena, const char *text) {
  size_t length = 0;
  while (is_word_byte(text[length]) || (text[length] && strchr("./-*", text[length])))
    length++;
  bool is_path = memchr(text, '/', length) != NULL;
  return is_path ? arena_copy_n(arena, text, length) : NULL;
}

static bool is_called(const WordUse *use, const char *name) {
  if (!use->text) return false;
  const char *after = use->text + strlen(name);
  after += strspn(after, " \t");
  return *after == '(' || *after == '{' || *after == '"' || *after == '\'';
}

static bool is_joined(const WordUse *use, const char *name) {
  if (!use->text) return false;
  const char *after = use->text + strlen(name), *before = use->text;
  after += strspn(after, " \t");
  while (before > use->line && (before[-1] == ' ' || before[-1] == '\t'))
    before--;
  bool is_behind = before > use->line + 1 && before[-1] == '.' && before[-2] == '.';
  return is_behind || strncmp(after, "..", 2) == 0;
}

/* Fills message and fix of a name that is known nowhere. */
static void explain_unknown(Arena *arena, const WordUse *use, const char *name, Diag *diag) {
  const char *reason = "text is written in quotes";
  const char *path = use->text ? path_at(arena, use->text) : NULL;
  diag->fix = arena_printf(arena, "\"%.60s\"", path ? path : name);
  if (is_called(use, name)) {
    int32_t line = line_of_definition(use, name);
    diag->fix = NULL;
    reason = "no function has this name; one of your own must be defined above its use";
    if (line > 0)
      reason = arena_printf(
          arena, "the function in line %d is defined below its use: move it above", line);
  } else if (is_joined(use, name)) {
    reason = "no local variable above has this name; text is written in quotes";
  }
  diag->message = arena_printf(arena, "nothing is named '%.40s' here;\n    %s", name, reason);
}

static const char *file_name(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path ? path : "mine.lua";
}

static bool knows(const Sandbox *sandbox, const char *name) {
  for (int32_t i = 0; i < sandbox->names.count; i++)
    if (strcmp(sandbox->names.at[i], name) == 0) return true;
  return false;
}

/* A job file where a model file is wanted, or the other way round. */
static bool explain_constructor(const Sandbox *sandbox, const WordUse *use, const char *name,
                                Diag *diag) {
  Arena *arena = sandbox->c->arena;
  if (!is_called(use, name)) return false;
  if (strcmp(name, "model") == 0) {
    diag->name = "not-a-job";
    diag->message = "this is a model file; a job file names it and has the other sections";
    diag->fix = arena_printf(arena, "return job { model = \"./%s\" }", file_name(use->span.file));
    return true;
  }
  if (strcmp(name, "job") != 0) return false;
  diag->name = "not-a-model";
  diag->message = knows(sandbox, "model")
                      ? "this is a job file; a model file is wanted: return model { ... }"
                      : "this is a job file; a plain table is wanted: return { ... }";
  return true;
}

int sandbox_name_missing(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  Arena *arena = sandbox->c->arena;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
  WordUse use = use_of(L, name);
  const MissingFunction *absent = find_absent(name);
  Diag diag = {.name = "unknown-name", .span = use.span};
  Foreign foreign;
  if (use.source && foreign_find(arena, use.source, use.span.line, use.span.line, &foreign)) {
    diag = (Diag){
        .name = "syntax", .span = foreign.span, .message = foreign.message, .fix = foreign.fix};
  } else if (absent) {
    diag.message =
        arena_printf(arena, "nothing is named '%.40s' here;\n    %s", name, absent->reason);
    diag.fix = absent->fix;
  } else if (!explain_constructor(sandbox, &use, name, &diag)) {
    const char *near = nearest_name(L, name);
    explain_unknown(arena, &use, name, &diag);
    if (near) {
      diag.message =
          arena_printf(arena, "nothing is named '%.40s' here;\n    did you mean '%s'?", name, near);
      diag.fix = near;
    }
  }
  sandbox->pending = diag;
  sandbox->has_pending = true;
  lua_pushliteral(L, "reported");
  return lua_error(L);
}

int sandbox_member_missing(lua_State *L) {
  const char *library = lua_tostring(L, lua_upvalueindex(1));
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
  const MissingFunction *absent = find_absent(name);
  bool is_math = strcmp(library, "math") == 0;
  const char *reason = absent    ? absent->reason
                       : is_math ? "it has floor ceil min max sqrt huge"
                                 : "it has format rep sub";
  return sandbox_error(L, "unknown-name", NULL, "%s has no '%.40s';\n    %s", library, name,
                       reason);
}

/* A table of many lines is assigned on its last one: the name is further up. */
static Span place_of_assigned(const WordUse *use, const char *name) {
  Span span = use->span;
  for (int32_t line = span.line; use->source && use->source->text && line > 0; line--) {
    Span word = sandbox_word(use->source, line, name);
    if (word.length == (int32_t)strlen(name)) return word;
  }
  return span;
}

int sandbox_name_assigned(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  Arena *arena = sandbox->c->arena;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "x";
  WordUse use = use_of(L, name);
  bool is_job = strcmp(name, "job") == 0 || strcmp(name, "model") == 0;
  Diag diag = {.name = "global", .span = place_of_assigned(&use, name)};
  diag.message =
      arena_printf(arena, "a job or model file sets no globals: '%.60s' needs 'local'", name);
  diag.fix = arena_printf(arena, "local %.60s = ...", name);
  if (is_job) {
    diag.message = arena_printf(arena, "the file returns its %s: return %s { ... }", name, name);
    diag.fix = arena_printf(arena, "return %s {", name);
  }
  sandbox->pending = diag;
  sandbox->has_pending = true;
  lua_pushliteral(L, "reported");
  return lua_error(L);
}
