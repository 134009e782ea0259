/* sandbox_find.c -- from a name to a file: the library's, or the user's own. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/spec/sandbox.h"
#include "compiler/spec/spec_room.h"

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The library's names of a kind, sorted: a folder lists its files in no order. */
TextList library_names(Compile *c, const char *folder) {
  TextList names = {0};
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
    size_t length = strlen(entry->d_name);
    if (length <= 4 || strcmp(entry->d_name + length - 4, ".lua") != 0) continue;
    VEC_PUSH(c->arena, &names, arena_copy_n(c->arena, entry->d_name, length - 4));
  }
  if (directory) closedir(directory);
  if (names.count > 1) qsort(names.at, (size_t)names.count, sizeof *names.at, compare_names);
  return names;
}

static const char *join_names(Arena *arena, const TextList *names) {
  const char *text = "";
  for (int32_t i = 0; i < names->count; i++)
    text = arena_printf(arena, "%s%s%s", text, i ? " " : "", names->at[i]);
  return text;
}

static const char *singular(Arena *arena, const char *kind) {
  size_t length = strlen(kind);
  return arena_copy_n(arena, kind, length > 0 && kind[length - 1] == 's' ? length - 1 : length);
}

static const char *find_file(Compile *c, const char *name, const char *directory, Span at) {
  const char *path = path_join(c->arena, directory, name);
  if (access(path, R_OK) == 0) return path;
  error_at(c, at, "no-file", "there is no file %s", path);
  return NULL;
}

const char *sandbox_find(Compile *c, const char *kind, const char *name, const char *directory,
                         Span at) {
  if (name[0] == '/' || strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0)
    return find_file(c, name, directory, at);
  if (name[0] == '~' || strchr(name, '$')) {
    error_at(c, at, "path",
             "'%s': ~ and $ are not replaced, because a plan must not depend on who "
             "compiles it; write the path",
             name);
    return NULL;
  }
  const char *one = singular(c->arena, kind);
  const char *folder = arena_printf(c->arena, "%s/%s", c->specs_dir ? c->specs_dir : "specs", kind);
  bool is_plain = *name && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789._-") == strlen(name);
  const char *path = arena_printf(c->arena, "%s/%s.lua", folder, name);
  if (is_plain && access(path, R_OK) == 0) return path;
  TextList names = library_names(c, folder);
  const char *near = nearest_word(name, names.at, names.count);
  for (int32_t i = names.count - 1; i >= 0 && strlen(name) > 1;
       i--) /* "h100" is the start of one */
    if (strncmp(names.at[i], name, strlen(name)) == 0) near = names.at[i];
  size_t length = strlen(name);
  bool is_file = !is_plain || (length > 4 && strcmp(name + length - 4, ".lua") == 0);
  if (is_file && *name) {
    error_at(c, at, "unknown-preset", "no %s is named '%s'; a file of your own begins with ./", one,
             name);
    fix_last(c, "\"./%s\"", name);
  } else if (near) {
    error_at(c, at, "unknown-preset", "no %s is named '%s'; did you mean '%s'?", one, name, near);
    fix_last(c, "\"%s\"", near);
  } else {
    error_at(c, at, "unknown-preset", "no %s is named '%s'; the library has: %s", one, name,
             names.count ? join_names(c->arena, &names) : "none");
  }
  return NULL;
}
