#include <stdlib.h>
#include <string.h>

#include "compiler/base/base.h"

/* Chunks double in size up to 4 MiB: a small job touches little memory, a large one makes few
 * system calls. */
typedef struct ArenaChunk {
  struct ArenaChunk *next;
  size_t used, capacity;
  _Alignas(16) unsigned char bytes[];
} ArenaChunk;

struct Arena {
  ArenaChunk *chunk;
};

enum { CHUNK_FIRST_BYTES = 64 << 10, CHUNK_MAX_BYTES = 4 << 20 };

static void *must(void *p, size_t size_bytes) {
  if (p == NULL) {
    fprintf(stderr, "lockstep: out of host memory (%zu bytes)\n", size_bytes);
    exit(2);
  }
  return p;
}

static void *must_allocate(size_t size_bytes) {
  return must(calloc(1, size_bytes), size_bytes);
}

Arena *arena_new(void) {
  return must_allocate(sizeof(Arena));
}

void arena_free(Arena *arena) {
  if (arena == NULL) return;
  for (ArenaChunk *chunk = arena->chunk, *next; chunk != NULL; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  free(arena);
}

void *arena_alloc(Arena *arena, size_t size_bytes) {
  size_bytes = (size_bytes + 15) & ~(size_t)15;
  ArenaChunk *chunk = arena->chunk;
  if (chunk == NULL || chunk->capacity - chunk->used < size_bytes) {
    size_t capacity = chunk == NULL ? CHUNK_FIRST_BYTES : chunk->capacity * 2;
    if (capacity > CHUNK_MAX_BYTES) capacity = CHUNK_MAX_BYTES;
    if (capacity < size_bytes) capacity = size_bytes;
    chunk = must_allocate(sizeof *chunk + capacity);
    chunk->capacity = capacity;
    chunk->next = arena->chunk;
    arena->chunk = chunk;
  }
  void *p = chunk->bytes + chunk->used;
  chunk->used += size_bytes;
  return p;
}

/* An allocation that is alone in its chunk grows by growing the chunk. */
void *arena_grow(Arena *arena, void *at, size_t size_bytes, size_t larger_bytes) {
  ArenaChunk **link = &arena->chunk;
  while (*link != NULL && (void *)(*link)->bytes != at)
    link = &(*link)->next;
  if (*link == NULL || (*link)->used != (*link)->capacity || (*link)->used - size_bytes > 15) {
    void *moved = arena_alloc(arena, larger_bytes);
    if (size_bytes > 0) memcpy(moved, at, size_bytes);
    return moved;
  }
  larger_bytes = (larger_bytes + 15) & ~(size_t)15;
  *link = must(realloc(*link, sizeof **link + larger_bytes), larger_bytes);
  (*link)->used = (*link)->capacity = larger_bytes;
  return (*link)->bytes;
}

char *arena_copy_n(Arena *arena, const char *text, size_t size_bytes) {
  char *copy = arena_alloc(arena, size_bytes + 1);
  memcpy(copy, text, size_bytes);
  return copy;
}

char *arena_copy(Arena *arena, const char *text) {
  return arena_copy_n(arena, text, strlen(text));
}

/* Most texts are short: they are formatted once. */
static char *arena_vprintf(Arena *arena, const char *format, va_list arguments) {
  char shorter[512];
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(shorter, sizeof shorter, format, again);
  va_end(again);
  char *text = arena_alloc(arena, (size_t)length + 1);
  if ((size_t)length < sizeof shorter)
    memcpy(text, shorter, (size_t)length + 1);
  else
    vsnprintf(text, (size_t)length + 1, format, arguments);
  return text;
}

char *arena_printf(Arena *arena, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = arena_vprintf(arena, format, arguments);
  va_end(arguments);
  return text;
}

void *vec_grow(Arena *arena, void *at, int32_t count, int32_t *capacity, size_t item_bytes) {
  if (count < *capacity) return at;
  int32_t larger = *capacity == 0 ? 8 : *capacity * 2;
  void *moved = arena_alloc(arena, item_bytes * (size_t)larger);
  if (count > 0) memcpy(moved, at, item_bytes * (size_t)count);
  *capacity = larger;
  return moved;
}

/* ---- small things */

uint64_t hash_text(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != '\0'; text++)
    hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

char *format_count(Arena *arena, int64_t n) {
  char digits[32];
  int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
  size_t digit_count = (size_t)length;
  char *text = arena_alloc(arena, digit_count + digit_count / 3 + 1), *out = text;
  for (int i = 0; i < length; i++) {
    *out++ = digits[i];
    int left = length - 1 - i;
    if (left > 0 && left % 3 == 0 && digits[i] != '-') *out++ = ',';
  }
  return text;
}

/* Decimals that make three significant digits. */
static int digits_behind(double n) {
  return n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2;
}

char *format_scaled(Arena *arena, double n, const char *unit) {
  static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  int prefix = 0;
  for (; n >= 999.5 && prefix < 6; prefix++)
    n /= 1000;
  return arena_printf(arena, "%.*f %s%s", prefix == 0 ? 0 : digits_behind(n), n, prefixes[prefix],
                      unit);
}

char *format_bytes(Arena *arena, int64_t size_bytes) {
  return format_scaled(arena, (double)size_bytes, "B");
}

const char *format_bytes_beside(Arena *arena, int64_t size_bytes, int64_t other_bytes) {
  const char *text = format_bytes(arena, size_bytes);
  if (size_bytes == other_bytes || strcmp(text, format_bytes(arena, other_bytes)) != 0) return text;
  return arena_printf(arena, "%s B", format_count(arena, size_bytes));
}

char *format_seconds(Arena *arena, double seconds) {
  static const char *const units[] = {"s", "ms", "us", "ns"};
  int unit = 0;
  for (; seconds < 0.9995 && unit < 3; unit++)
    seconds *= 1000;
  return arena_printf(arena, "%.*f %s", digits_behind(seconds), seconds, units[unit]);
}
