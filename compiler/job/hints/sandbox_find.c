/* sandbox_find.c -- from a name to a file: the library's, or the user's own. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "compiler/job/job_room.h"
#include "compiler/job/lua/sandbox.h"

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

/* ---- a name that is nearly right */

/* Small letters and digits: "DGX_H100" is "dgx-h100", "llama-3-8b" is "llama3-8b". */
static const char *plain_name(Arena *arena, const char *name) {
  char *plain = arena_copy(arena, name), *out = plain;
  for (const char *p = name; *p; p++)
    if (isalnum((unsigned char)*p)) *out++ = (char)tolower((unsigned char)*p);
  *out = 0;
  return plain;
}

/* The next run of letters or of digits in `*text`, in small letters. */
static const char *next_run(Arena *arena, const char **text) {
  while (**text && !isalnum((unsigned char)**text))
    ++*text;
  const char *from = *text;
  bool is_number = isdigit((unsigned char)*from) != 0;
  while (isalnum((unsigned char)**text) && (isdigit((unsigned char)**text) != 0) == is_number)
    ++*text;
  return plain_name(arena, arena_copy_n(arena, from, (size_t)(*text - from)));
}

/* "100" typed as "10" or "1000". */
static bool is_doubled(const char *shorter, const char *longer) {
  size_t length = strlen(shorter);
  return length > 0 && strncmp(shorter, longer, length) == 0 &&
         longer[length] == longer[length - 1] && !longer[length + 1];
}

/* Numbers are what tells presets apart, and the letter before one names another machine: b200 is no
 * slip for h200, 7b none for 8b. Longer runs of letters may differ, and a letter at the end. */
static bool is_slip(Arena *arena, const char *a, const char *b) {
  while (*a && *b) {
    const char *a_run = next_run(arena, &a), *b_run = next_run(arena, &b);
    if (strcmp(a_run, b_run) == 0) continue;
    bool is_number = isdigit((unsigned char)*a_run) || isdigit((unsigned char)*b_run);
    bool is_mark = strlen(a_run) == 1 && strlen(b_run) == 1 && !*a && !*b; /* 124n */
    bool is_slip_here =
        is_number ? is_doubled(a_run, b_run) || is_doubled(b_run, a_run)
                  : is_mark || (strlen(a_run) > 1 && nearest_word(a_run, &b_run, 1) != NULL);
    if (!is_slip_here) return false;
  }
  return !*a && !*b;
}

static const char *nearest_name(Arena *arena, const TextList *names, const char *name) {
  const char *plain = plain_name(arena, name);
  for (int32_t i = 0; i < names->count; i++)
    if (strcmp(plain_name(arena, names->at[i]), plain) == 0) return names->at[i];
  for (int32_t i = 0; i < names->count; i++)
    if (is_slip(arena, name, names->at[i])) return names->at[i];
  for (int32_t i = 0; i < names->count && strlen(plain) > 2; i++) { /* "h100" is a part of one */
    const char *found = strstr(plain_name(arena, names->at[i]), plain);
    if (found && !isdigit((unsigned char)found[strlen(plain)])) return names->at[i];
  }
  return NULL;
}

static const char *find_file(Compile *c, const char *name, const char *directory, Span at) {
  const char *path = path_join(c->arena, directory, name);
  if (access(path, R_OK) == 0) return path;
  error_at(c, at, "no-file", "there is no file %s", path);
  return NULL;
}

/* Other tools name a kind of device, which follows from the machine here. */
static bool is_kind_of_device(const char *kind, const char *name) {
  static const char *const kinds[] = {"gpu", "gpus", "cuda", "cuda:0", "nvidia", "auto"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && strcmp(kind, "devices") == 0; i++)
    if (strcasecmp(name, kinds[i]) == 0) return true;
  return false;
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
  if (is_kind_of_device(kind, name)) {
    error_at(c, at, "unknown-preset",
             "no device is named '%s'; cluster = \"here\" takes this machine's GPUs by itself, and "
             "lockstep list devices has those of others",
             name);
    fix_last(c, "remove device");
    return NULL;
  }
  TextList names = library_names(c, folder);
  if (strcmp(kind, "devices") == 0) VEC_PUSH(c->arena, &names, "cpu"); /* it needs no file */
  if (strcmp(kind, "clusters") == 0) VEC_PUSH(c->arena, &names, "here");
  const char *near = nearest_name(c->arena, &names, name);
  if (!near) near = translated_word(c->arena, one, join_names(c->arena, &names), name);
  size_t length = strlen(name);
  bool is_file = !is_plain || (length > 4 && strcmp(name + length - 4, ".lua") == 0);
  if (is_file && *name) {
    error_at(c, at, "unknown-preset", "no %s is named '%s'; a file of your own begins with ./", one,
             text_show(c->arena, name));
    bool is_lua = length > 4 && strcmp(name + length - 4, ".lua") == 0;
    if (is_lua || access(path_join(c->arena, directory, name), R_OK) == 0)
      fix_last(c, "\"./%s\"", name);
    else
      note_at(c, (Span){0}, "the library has: %s", join_names(c->arena, &names));
  } else if (near) {
    error_at(c, at, "unknown-preset", "no %s is named '%s'; did you mean '%s'?", one, name, near);
    fix_last(c, "\"%s\"", near);
  } else {
    error_at(c, at, "unknown-preset", "no %s is named '%s'; the library has: %s", one, name,
             names.count ? join_names(c->arena, &names) : "none");
  }
  return NULL;
}
