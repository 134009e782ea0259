/* sandbox.c -- the state, its limits, and errors, which become diagnostics with a place.
 *
 * Lua raises errors by longjmp to our protected call. What is known only while the failing
 * functions are on the Lua stack, such as the line, is taken in the message handler; the report is
 * made after the call has ended. */
#include "compiler/job/lua/sandbox.h"

#include <ctype.h>
#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "compiler/job/hints/foreign.h"

Sandbox *sandbox_of(lua_State *L) {
  void *user;
  lua_getallocf(L, &user);
  return user;
}

/* ---- places */

static bool is_word_byte(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static const char *line_of(const char *text, int32_t line) {
  while (--line > 0) {
    text = strchr(text, '\n');
    if (!text) return NULL;
    text++;
  }
  return text;
}

Span sandbox_word(const Source *source, int32_t line, const char *word) {
  if (!source->text) return (Span){.file = source->path};
  Span span = {.file = source->path, .line = line, .column = 1, .length = 1};
  const char *start = line > 0 ? line_of(source->text, line) : NULL;
  if (!start) return span;
  size_t width = strcspn(start, "\r\n"), length = word ? strlen(word) : 0;
  bool is_word = length > 0 && is_word_byte(word[0]);
  for (size_t i = 0; length > 0 && i + length <= width; i++) {
    if (memcmp(start + i, word, length) != 0) continue;
    if (is_word && i > 0 && is_word_byte(start[i - 1])) continue;
    if (is_word && is_word_byte(start[i + length])) continue;
    span.column = (int32_t)i + 1;
    span.length = (int32_t)length;
    return span;
  }
  size_t blank = strspn(start, " \t");
  span.column = (int32_t)(blank < width ? blank : 0) + 1;
  return span;
}

static const Source *source_of(const Sandbox *sandbox, const lua_Debug *frame) {
  if (strncmp(frame->source, "@#", 2) != 0) return NULL;
  long at = strtol(frame->source + 2, NULL, 10);
  return at < sandbox->sources.count ? &sandbox->sources.at[at] : NULL;
}

/* The source text at the call of a metamethod. */
static const char *written_name(const lua_Debug *frame) {
  static const char *const operators[][2] = {
      {"add", "+"}, {"sub", "-"}, {"mul", "*"},     {"div", "/"},   {"mod", "%"}, {"idiv", "//"},
      {"pow", "^"}, {"unm", "-"}, {"concat", ".."}, {"index", "."}, {"eq", "=="}, {"lt", "<"}};
  if (!frame->name || strcmp(frame->namewhat, "metamethod") != 0) return frame->name;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (strcmp(frame->name, operators[i][0]) == 0) return operators[i][1];
  return NULL;
}

/* The innermost line of a file that runs, `skipped` functions further out: of a call of them. */
static Span where_outside(lua_State *L, int skipped) {
  const Sandbox *sandbox = sandbox_of(L);
  const char *called = NULL;
  lua_Debug frame;
  for (int level = 0; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "nSl", &frame);
    const Source *source = source_of(sandbox, &frame);
    if (level >= skipped && source && frame.currentline > 0)
      return sandbox_word(source, frame.currentline, called);
    called = written_name(&frame);
  }
  return (Span){0};
}

Span sandbox_where(lua_State *L) {
  return where_outside(L, 0);
}

/* ---- limits */

static const char late_reason[] =
    "this takes too long: 2 seconds of processor time; a usual file needs milliseconds";

/* Reads the call stack only: nothing here allocates, so it may run inside the allocator. */
static void refuse(Sandbox *sandbox, const char *why) {
  lua_Debug frame;
  bool is_deep = lua_getstack(sandbox->L, 1000, &frame) != 0;
  sandbox->refusal = is_deep ? "functions call each other without end" : why;
  sandbox->refused_at = where_outside(sandbox->L, is_deep ? 1 : 0);
}

static void *bounded_alloc(void *user, void *at, size_t old_bytes, size_t size_bytes) {
  Sandbox *sandbox = user;
  bool is_text = !at && old_bytes == LUA_TSTRING; /* for a new object Lua passes its type here */
  if (!at) old_bytes = 0;
  if (size_bytes == 0) {
    sandbox->used_bytes -= old_bytes;
    free(at);
    return NULL;
  }
  if (sandbox->running > 0 && size_bytes > old_bytes) {
    const char *why = NULL;
    if (is_text && size_bytes > SANDBOX_TEXT_BYTES) why = "a text grew beyond 64 KiB";
    if (!is_text && !at && size_bytes > SANDBOX_TABLE_BYTES) why = "a table grew beyond 2 MiB";
    if (sandbox->used_bytes - old_bytes + size_bytes > SANDBOX_MEMORY_BYTES)
      why = "the file uses more than 64 MiB of memory";
    if (sandbox->traffic_bytes + size_bytes > SANDBOX_TRAFFIC_BYTES)
      why = "the file builds more than 1 GiB of values, one after another";
    if (why) {
      refuse(sandbox, why);
      return NULL;
    }
  }
  void *moved = realloc(at, size_bytes);
  if (!moved) return NULL;
  sandbox->used_bytes += size_bytes - old_bytes;
  if (size_bytes > old_bytes) sandbox->traffic_bytes += size_bytes;
  return moved;
}

/* Processor time of this thread, so that the limit does not depend on other programs. */
static int64_t processor_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One instruction may take long by itself: a key of a table that collides with thousands of others,
 * a number of 64 KiB. A usual file takes a thousandth of this, so no machine is too slow for it. */
static bool is_late(const Sandbox *sandbox) {
  return processor_ns() - sandbox->started_ns > SANDBOX_TIME_NS;
}

static void count_instructions(lua_State *L, lua_Debug *frame) {
  (void)frame;
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox->running == 0) return;
  sandbox->instructions += SANDBOX_HOOK_PERIOD;
  if (sandbox->instructions > SANDBOX_INSTRUCTIONS)
    sandbox_error(L, "limit", NULL,
                  "this does not end: 20 million instructions were run; a usual file needs "
                  "hundreds");
  if (is_late(sandbox)) sandbox_error(L, "limit", NULL, "%s", late_reason);
}

/* A protected call begins: its time is counted from here. */
static void enter(Sandbox *sandbox) {
  if (sandbox->running++ == 0) sandbox->started_ns = processor_ns();
}

static int out_of_memory(lua_State *L) {
  const char *text = lua_tostring(L, -1);
  fprintf(stderr, "lockstep: internal error: Lua: %s\n", text ? text : "unknown");
  exit(3);
}

/* ---- state */

lua_State *sandbox_open(Compile *c) {
  Sandbox *sandbox = ARENA_NEW(c->arena, Sandbox);
  sandbox->c = c;
  lua_State *L = lua_newstate(bounded_alloc, sandbox);
  if (!L) {
    fprintf(stderr, "lockstep: this machine has no memory left\n");
    exit(3);
  }
  sandbox->L = L;
  lua_atpanic(L, out_of_memory);
  sandbox_open_library(L);
  lua_sethook(L, count_instructions, LUA_MASKCOUNT, SANDBOX_HOOK_PERIOD);
  return L;
}

void sandbox_renew(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  sandbox->instructions = 0;
  sandbox->traffic_bytes = 0;
  lua_gc(L, LUA_GCCOLLECT);
}

void sandbox_close(lua_State *L) {
  if (L) lua_close(L);
}

/* ---- errors */

int sandbox_error(lua_State *L, const char *name, const char *fix, const char *format, ...) {
  Sandbox *sandbox = sandbox_of(L);
  if (!sandbox->has_pending) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    Arena *arena = sandbox->c->arena;
    sandbox->has_pending = true;
    sandbox->pending = (Diag){.name = name,
                              .span = sandbox_where(L),
                              .message = arena_copy(arena, text),
                              .fix = fix ? arena_copy(arena, fix) : NULL};
  }
  lua_pushliteral(L, "reported");
  return lua_error(L);
}

/* `text` begins with the place luaL_error wrote, "#0:12: ": takes that place, returns the rest. */
static const char *take_place(const Sandbox *sandbox, const char *text, const Source **source,
                              int32_t *line) {
  if (*text != '#') return text;
  char *end;
  long at = strtol(text + 1, &end, 10);
  if (*end != ':' || at < 0 || at >= sandbox->sources.count) return text;
  long number = strtol(end + 1, &end, 10);
  if (*end != ':') return text;
  *source = &sandbox->sources.at[at];
  *line = (int32_t)number;
  return end + 1 + strspn(end + 1, " ");
}

/* The name Lua's messages quote: (local 'x'), near 'x'. */
static const char *quoted_word(Arena *arena, const char *text) {
  static const char *const before[] = {"near '",     "(local '",  "(field '",   "(global '",
                                       "(upvalue '", "(method '", "(constant '"};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    const char *found = strstr(text, before[i]);
    if (!found) continue;
    found += strlen(before[i]);
    const char *end = strrchr(found, '\'');
    if (i > 0) end = strchr(found, '\'');
    if (end && end > found) return arena_copy_n(arena, found, (size_t)(end - found));
  }
  return NULL;
}

static const char *text_of_error(lua_State *L) {
  if (lua_type(L, -1) == LUA_TSTRING) return lua_tostring(L, -1);
  return arena_printf(sandbox_of(L)->c->arena, "error() was called with a %s in place of a text",
                      luaL_typename(L, -1));
}

/* Runs while the failing functions are still on the stack. */
static int on_error(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox->has_pending) return 1;
  Arena *arena = sandbox->c->arena;
  const Source *source = NULL;
  int32_t line = 0;
  const char *text = take_place(sandbox, text_of_error(L), &source, &line);
  Diag diag = {.name = "lua-error", .span = sandbox_where(L)};
  if (strstr(text, "stack overflow")) {
    diag.name = "limit";
    text = "functions call each other without end";
  } else if (source) {
    const char *word = quoted_word(arena, text);
    if (word || source->path != diag.span.file || line != diag.span.line)
      diag.span = sandbox_word(source, line, word);
  }
  diag.message = arena_printf(arena, "%.400s", text);
  sandbox->pending = diag;
  sandbox->has_pending = true;
  return 1;
}

static bool report_limit(Sandbox *sandbox, Span at) {
  Span span = sandbox->refused_at.file ? sandbox->refused_at : at;
  const char *why = sandbox->refusal ? sandbox->refusal : "this is nested more than 200 deep";
  sandbox->refusal = NULL;
  return error_at(sandbox->c, span, "limit", "%s", why);
}

static bool report_pending(Sandbox *sandbox, Span at) {
  Diag diag = sandbox->pending;
  sandbox->has_pending = false;
  if (!diag.name) return false; /* the error has been reported where it occurred */
  error_at(sandbox->c, diag.span.file ? diag.span : at, diag.name, "%s", diag.message);
  if (diag.fix) fix_last(sandbox->c, "%s", diag.fix);
  return false;
}

bool sandbox_call(Compile *c, lua_State *L, int arguments, Span at) {
  (void)c;
  Sandbox *sandbox = sandbox_of(L);
  int handler = lua_gettop(L) - arguments;
  lua_pushcfunction(L, on_error);
  lua_insert(L, handler);
  enter(sandbox);
  int status = lua_pcall(L, arguments, 1, handler);
  sandbox->running--;
  lua_remove(L, handler);
  if (status == LUA_OK) return true;
  lua_pop(L, 1);
  if (status == LUA_ERRRUN && sandbox->has_pending) return report_pending(sandbox, at);
  sandbox->has_pending = false;
  return report_limit(sandbox, at);
}

/* ---- files */

static bool check_text(Compile *c, const char *path, const char *text, size_t size_bytes) {
  const char *bad = *text == '\x1b' ? text : text_find_bad(text, text + size_bytes);
  if (!bad) return true;
  Span span = {.file = path, .line = 1, .column = 1, .length = 1};
  for (const char *p = text; p < bad; p++, span.column++)
    if (*p == '\n') {
      span.line++;
      span.column = 0;
    }
  bool is_wide = strncmp(text, "\xff\xfe", 2) == 0 || strncmp(text, "\xfe\xff", 2) == 0;
  if (is_wide) return error_at(c, span, "not-text", "the file is UTF-16 text; save it as UTF-8");
  bool is_letter = (unsigned char)*bad >= 0xa0; /* of an older encoding, perhaps */
  return error_at(c, span, "not-text",
                  "a job or model file is UTF-8 text; here is the byte 0x%02x%s",
                  (unsigned char)*bad, is_letter ? "; save it as UTF-8" : "");
}

/* The whole file with a NUL after it, in the arena. NULL when reported. */
static char *read_source(Compile *c, const char *path, Span at) {
  struct stat status;
  bool exists = stat(path, &status) == 0, is_file = exists && S_ISREG(status.st_mode);
  FILE *file = is_file ? fopen(path, "rb") : NULL;
  if (!file) {
    const char *why = exists && S_ISDIR(status.st_mode)     ? "it is a directory"
                      : exists && !is_file                  ? "it is not a file"
                      : errno == ENOENT || errno == ENOTDIR ? "there is no such file"
                                                            : strerror(errno);
    error_at(c, at.file ? at : (Span){.file = path}, "no-file", "cannot read %s: %s", path, why);
    return NULL;
  }
  char *text = NULL;
  if ((size_t)status.st_size > SANDBOX_FILE_BYTES) {
    error_at(c, at.file ? at : (Span){.file = path}, "limit",
             "%s has %lld bytes; the limit is 1 MiB", path, (long long)status.st_size);
  } else {
    text = arena_alloc(c->arena, (size_t)status.st_size + 1);
    size_t got = fread(text, 1, (size_t)status.st_size, file);
    text[got] = 0;
    if (!check_text(c, path, text, got)) text = NULL;
  }
  fclose(file);
  return text;
}

static void explain_syntax(Compile *c, const char *text, const char *word) {
  if (strstr(text, "<eof> expected"))
    note_at(c, (Span){0}, "nothing may follow a return; or a }, ) or end above is one too many");
  if (strstr(text, "'}' expected") && word && is_word_byte(word[0]))
    note_at(c, (Span){0}, "a comma may be missing before '%s'", word);
  if (strstr(text, "near <eof>") && !strstr(text, "to close"))
    note_at(c, (Span){0}, "the file ends before a text, a { or a function is closed");
}

static bool report_syntax(Sandbox *sandbox, const Source *source, const char *text) {
  Compile *c = sandbox->c;
  const Source *ignored = source;
  int32_t line = 0;
  text = take_place(sandbox, text, &ignored, &line);
  const char *word = quoted_word(c->arena, text);
  if (!word && strstr(text, "near <eof>")) word = "";
  Foreign foreign;
  if (foreign_find(c->arena, source, 1, line, &foreign)) {
    error_at(c, foreign.span, "syntax", "%s", foreign.message);
    if (foreign.fix) fix_last(c, "%s", foreign.fix);
    return false;
  }
  error_at(c, sandbox_word(source, line, word), "syntax", "%.300s", text);
  explain_syntax(c, text, word);
  return false;
}

/* The reader takes the code in pieces, so that time is looked at between them too: constants are
 * kept in a table, whose keys may collide. */
typedef struct CodePieces {
  const char *at;
} CodePieces;

static const char *next_piece(lua_State *L, void *user, size_t *size_bytes) {
  enum { PIECE_BYTES = 4096 };
  Sandbox *sandbox = sandbox_of(L);
  CodePieces *pieces = user;
  if (is_late(sandbox)) {
    sandbox->refusal = late_reason;
    luaL_error(L, "%s", late_reason);
  }
  const char *piece = pieces->at;
  *size_bytes = strnlen(piece, PIECE_BYTES);
  pieces->at += *size_bytes;
  return piece;
}

/* Compiling a job again, as advice does, reads its files again. */
static void note_read(Compile *c, const Source *said) {
  for (int32_t i = 0; i < c->read.count; i++)
    if (strcmp(c->read.at[i].path, said->path) == 0) return;
  if (said->text) VEC_PUSH(c->arena, &c->read, (ReadFile){said->path, said->text});
}

static bool run_code(Compile *c, lua_State *L, Source said, const char *code) {
  Sandbox *sandbox = sandbox_of(L);
  note_read(c, &said);
  VEC_PUSH(c->arena, &sandbox->sources, said);
  int32_t number = sandbox->sources.count - 1;
  const Source *source = &sandbox->sources.at[number];
  enter(sandbox);
  CodePieces pieces = {code};
  int status = lua_load(L, next_piece, &pieces, arena_printf(c->arena, "@#%d", number), "t");
  sandbox->running--;
  Span whole = {.file = source->path};
  if (status != LUA_OK) {
    const char *message = text_of_error(L);
    bool reported = status == LUA_ERRSYNTAX ? report_syntax(sandbox, source, message)
                                            : report_limit(sandbox, whole);
    lua_pop(L, 1);
    return reported;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_setupvalue(L, -2, 1);
  return sandbox_call(c, L, 0, whole);
}

bool sandbox_run_file(Compile *c, lua_State *L, const char *path, Span at) {
  const char *text = read_source(c, path, at);
  if (!text) return false;
  if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3; /* a byte-order mark has no column */
  const char *code = text;
  if (*code == '#')
    code += strcspn(code, "\n"); /* as lua does: the first line may name an interpreter */
  return run_code(c, L, (Source){arena_copy(c->arena, path), text}, code);
}

bool sandbox_run_value(Compile *c, lua_State *L, const char *expression, Span at) {
  if (text_find_bad(expression, expression + strlen(expression)))
    return error_at(c, at, "not-text", "a value is UTF-8 text");
  return run_code(c, L, (Source){at.file, NULL}, arena_printf(c->arena, "return %s", expression));
}
