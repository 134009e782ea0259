/* paths.c -- file names as text: nothing here touches the disk. */
#include <string.h>

#include "compiler/job/job_room.h"

char *path_directory(Arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return arena_copy(arena, ".");
  if (slash == path) return arena_copy(arena, "/");
  return arena_copy_n(arena, path, (size_t)(slash - path));
}

/* Removes "." and "a/..": data beside a job in examples/ reads as data/bible, not
 * examples/../data/bible. */
static void normalise(char *path) {
  bool is_absolute = *path == '/';
  char *out = path + is_absolute;
  for (char *p = out; *p;) {
    size_t width = strcspn(p, "/");
    char *next = p + width + (p[width] == '/');
    bool is_dot = width == 0 || (width == 1 && *p == '.');
    bool is_up = width == 2 && p[0] == '.' && p[1] == '.';
    char *start = path + is_absolute;
    char *before = out > start ? out - 1 : start; /* start of the last kept part */
    while (before > start && before[-1] != '/')
      before--;
    bool can_drop = out > start && !(out - before == 3 && memcmp(before, "../", 3) == 0);
    if (is_up && can_drop) {
      out = before;
    } else if (!is_dot && !(is_up && is_absolute)) {
      memmove(out, p, width);
      out += width;
      *out++ = '/';
    }
    p = next;
  }
  if (out > path + is_absolute) out--;
  *out = 0;
}

char *path_join(Arena *arena, const char *directory, const char *path) {
  bool is_alone = *path == '/' || !directory || !*directory;
  /* One byte more than needed: normalise writes a slash after the last part before it cuts it. */
  char *joined =
      is_alone ? arena_printf(arena, "%s ", path) : arena_printf(arena, "%s/%s ", directory, path);
  joined[strlen(joined) - 1] = 0;
  normalise(joined);
  return *joined ? joined : arena_copy(arena, ".");
}

const char *path_located(Arena *arena, const char *directory, const char *name) {
  bool is_relative = strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0;
  if (!is_relative) return name;
  const char *path = path_join(arena, directory, name);
  bool is_clear = *path == '/' || strncmp(path, "../", 3) == 0;
  return is_clear ? path : arena_printf(arena, "./%s", path);
}

const char *path_stem(Arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  size_t length = strlen(name);
  if (length > 4 && strcmp(name + length - 4, ".lua") == 0) length -= 4;
  return arena_copy_n(arena, name, length);
}

bool path_check(Compile *c, const char *path, Span at) {
  if (!*path) return error_at(c, at, "path", "an empty path");
  if (strcmp(text_plain(c->arena, path), path) != 0 || strchr(path, '\n'))
    return error_at(c, at, "path", "a path holds no control characters: \"%s\"", path);
  if (*path != '~' && !strchr(path, '$')) return true;
  error_at(c, at, "path",
           "~ and $ are not replaced in \"%s\":\n    a plan must not depend on who "
           "compiles it",
           text_show(c->arena, path));
  note_at(c, (Span){0}, "write the path itself; {run} and {name} are replaced");
  return false;
}
