/* sandbox_state.h -- what one sandbox remembers. Private to sandbox*.c. */
#ifndef LOCKSTEP_SANDBOX_STATE_H
#define LOCKSTEP_SANDBOX_STATE_H

#include "compiler/job/lua/sandbox.h"

#define SANDBOX_MEMORY_BYTES  ((size_t)64 << 20)
#define SANDBOX_TRAFFIC_BYTES ((size_t)1 << 30)  /* allocated in all: bounds the time of copies */
#define SANDBOX_TEXT_BYTES    ((size_t)64 << 10) /* one string: bounds the time of one comparison */
#define SANDBOX_TABLE_BYTES   ((size_t)2 << 20) /* one part of a table: bounds its slowest rehash */
#define SANDBOX_FILE_BYTES    ((size_t)1 << 20)
#define SANDBOX_TIME_NS       ((int64_t)2 * 1000 * 1000 * 1000) /* of the processor */
enum { SANDBOX_INSTRUCTIONS = 20 * 1000 * 1000, SANDBOX_HOOK_PERIOD = 1000 };

/* A file that was run. Lua knows it as "@#N": short names are never cut, as long paths would be. */
typedef struct Source {
  const char *path;
  const char *text; /* NULL: of a command line; its places are the whole of it */
} Source;

typedef struct Sandbox {
  Compile *c;
  lua_State *L;
  size_t used_bytes, traffic_bytes;
  int64_t instructions, started_ns;
  int32_t
      running; /* depth of protected calls: limits hold only inside, where they can be reported */
  const char *refusal; /* why the allocator said no */
  Span refused_at;
  bool has_pending; /* a diagnostic raised inside Lua that waits for the protected call to end */
  Diag pending;     /* name NULL: already reported, only unwind */
  VEC(Source) sources;
  VEC(const char *) names; /* of the environment, for did-you-mean */
} Sandbox;

Sandbox *sandbox_of(lua_State *L);

/* Place of `word` as a whole word on a line of a source; the line's first word when it is not
 * there. */
Span sandbox_word(const Source *source, int32_t line, const char *word);

/* __index and __newindex of the names a file sees, and __index of math and string (upvalue 1:
 * which): they report a name that does not exist. */
int sandbox_name_missing(lua_State *L);
int sandbox_name_assigned(lua_State *L);
int sandbox_member_missing(lua_State *L);

/* Fills the environment with what every sandboxed file may use. */
void sandbox_open_library(lua_State *L);

#endif
