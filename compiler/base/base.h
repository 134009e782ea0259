/* base.h -- what every room of the compiler uses: arena, growable arrays, diagnostics.
 *
 * One arena per compile: zeroed, freed in one piece, no free in any room. A user's mistake is a
 * diagnostic with a span. Rooms report all they find and return false; a room returns at once when
 * compile_failed(c). */
#ifndef LOCKSTEP_BASE_H
#define LOCKSTEP_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/process/plural.h"
#include "runtime/process/wrap.h"

/* ---- memory */
typedef struct Arena Arena;
Arena *arena_new(void);
void arena_free(Arena *arena);
void *arena_alloc(Arena *arena,
                  size_t size_bytes); /* zeroed, 16-aligned; exits with 2 when out of memory */
/* The first `size_bytes` at `at` with room for more, which is not zeroed. Nothing may point to
 * where they were. */
void *arena_grow(Arena *arena, void *at, size_t size_bytes, size_t larger_bytes);
char *arena_copy(Arena *arena, const char *text);
char *arena_copy_n(Arena *arena, const char *text, size_t size_bytes); /* adds a NUL */
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name under which a file is written before it is renamed to `path`, or `path` itself where
 * that is a pipe, a device or a link such as /dev/stdout, over which nothing may be renamed. */
const char *file_beside(Arena *arena, const char *path);
/* Removes the temporary file `beside`, unless it is `path` itself. */
void file_forget(const char *beside, const char *path);
#define ARENA_NEW(arena, Type)      ((Type *)arena_alloc((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, n) ((Type *)arena_alloc((arena), sizeof(Type) * (size_t)(n)))

/* A growable array: VEC(Node) nodes; VEC_PUSH(arena, &nodes, node); nodes.at[i], nodes.count. */
#define VEC(Type)                                                                                  \
  struct {                                                                                         \
    Type *at;                                                                                      \
    int32_t count, capacity;                                                                       \
  }
#define VEC_PUSH(arena, vec, ...)                                                                  \
  ((vec)->at = vec_grow((arena), (vec)->at, (vec)->count, &(vec)->capacity, sizeof *(vec)->at),    \
   (vec)->at[(vec)->count++] = (__VA_ARGS__))
void *vec_grow(Arena *arena, void *at, int32_t count, int32_t *capacity, size_t item_bytes);

/* ---- places and diagnostics */
typedef struct Span {
  const char *file; /* as the user named it; NULL: no place (derived) */
  int32_t line;     /* from 1; 0: the whole file */
  int32_t column;   /* from 1, in bytes */
  int32_t length;   /* of the caret */
} Span;

typedef enum Severity { SEVERITY_ERROR, SEVERITY_LINT, SEVERITY_NOTE } Severity;

typedef struct Diag {
  Severity severity;
  const char *name; /* "unknown-key": what `lockstep help NAME` explains */
  Span span;
  const char *message; /* one line or several: what was expected and what was found */
  const char *fix;     /* text that can be pasted, or NULL */
} Diag;

typedef struct Diags {
  Arena *arena;
  VEC(Diag) list;
  int32_t error_count;
  const char *const *accepted; /* lints that are not printed: job.accept */
  int32_t accepted_count;
} Diags;

/* A Lua file that was run, as it was read. */
typedef struct ReadFile {
  const char *path, *text;
} ReadFile;
typedef VEC(ReadFile) ReadFiles;

/* The state that all rooms share. There are no globals, no clock, no environment. */
typedef struct Compile {
  Arena *arena;
  Diags diags;
  ReadFiles read;        /* the job, its bases, models, clusters: each once, in order of reading */
  const char *specs_dir; /* the library: models/ devices/ clusters/ */
  bool is_defect;        /* an error is ours, not the user's: exit 3 */
} Compile;

Compile *compile_new(const char *specs_dir);
void compile_free(Compile *c);
/* The name of a file of the library, the same on every machine: "specs/models/llama.lua".
 */
const char *library_text(const Compile *c, const char *text);
static inline bool compile_failed(const Compile *c) {
  return c->diags.error_count > 0;
}

/* Reports and returns false. Every diagnostic's name is listed in job/hints/diagnostics.def (help
 * text).
 */
bool error_at(Compile *c, Span span, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void note_at(Compile *c, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4))); /* belongs to the last error */
void lint_at(Compile *c, Span span, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void fix_last(Compile *c, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* of the last error or lint */

/* A lint that the job accepts. */
bool diag_is_accepted(const Diags *diags, const Diag *diag);

/* Prints them sorted by file, line and column, each cause once. As text: with the source line and a
 * caret. Returns how many errors it printed. */
int32_t diags_print(const Diags *diags, FILE *out, bool color);
void diags_print_json(const Diags *diags, FILE *out);

/* ---- text from outside */

/* First byte of [text, end) that is not UTF-8 text, or NULL. */
const char *text_find_bad(const char *text, const char *end);

/* The text with escapes such as "\x1b" for bytes that would control a terminal or are not UTF-8.
 * text_plain keeps line breaks that are followed by four blanks, as in our own messages. */
void print_plain(const char *text, FILE *out);
const char *text_plain(Arena *arena, const char *text);

/* A JSON string with its quotes; NULL is an empty one. A byte that is not UTF-8 is escaped. */
void print_json_text(const char *text, FILE *out);

/* Text inside an element or attribute of XML, such as SVG; '?' for what XML does not allow. */
void print_xml_text(const char *text, FILE *out);

/* The nearest of `count` words, or NULL if none is close enough for a typing error: words of up to
 * three letters must have the same letters; up to five letters allow one error, up to eight two,
 * longer ones three. */
const char *nearest_word(const char *word, const char *const *words, int32_t count);

/* ---- small things */
uint64_t hash_text(
    const char *text); /* FNV-1a, 64 bit: stable across machines; random streams are keyed by it */
static inline int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}
char *format_count(Arena *arena, int64_t n);          /* 124,439,808 */
char *format_bytes(Arena *arena, int64_t size_bytes); /* 1.23 GB: 1e9; three significant digits */
/* A size beside another one in a sentence: exact where three digits are the same for both. */
const char *format_bytes_beside(Arena *arena, int64_t size_bytes, int64_t other_bytes);
char *format_scaled(Arena *arena, double n, const char *unit); /* 2.54 TFLOP: never an exponent */
char *format_seconds(Arena *arena, double seconds);            /* 58.1 ms */

#endif
