/* saved.c -- finds checkpoints, and judges them by their manifests and the sizes of their parts. */
#include "compiler/show/cli/saved.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/show/cli/runs.h"
#include "runtime/json/json.h"
#include "runtime/parts/parts.h"

enum { STEP_DIGITS = 8, RECORD_BYTES_MAX = 16 << 20 };

static const char step_prefix[] = "step_";

int64_t saved_step(const char *name, const char **rest) {
  size_t prefix = sizeof step_prefix - 1;
  if (strncmp(name, step_prefix, prefix) != 0) return -1;
  size_t digits = strspn(name + prefix, "0123456789");
  if (digits < STEP_DIGITS || digits > 18) return -1;
  if (rest) *rest = name + prefix + digits;
  return rest || name[prefix + digits] == 0 ? strtoll(name + prefix, NULL, 10) : -1;
}

/* ---- a manifest */

static char *read_file(const char *path, size_t *bytes, int *failure) {
  struct stat about = {0};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  bool is_known = file >= 0 && fstat(file, &about) == 0;
  size_t size = is_known ? (size_t)about.st_size : 0;
  if (size > MANIFEST_BYTES_MAX) size = MANIFEST_BYTES_MAX + 1; /* the reader refuses it */
  char *text = is_known ? malloc(size + 1) : NULL;
  ssize_t got = text ? read(file, text, size) : -1;
  *failure = got < 0 ? errno : 0;
  *bytes = got < 0 ? 0 : (size_t)got;
  if (file >= 0) (void)close(file);
  if (got >= 0) return text;
  free(text);
  return NULL;
}

bool saved_open(SavedOpen *saved, const char *path) {
  char file[4200];
  size_t bytes;
  *saved = (SavedOpen){.checkpoint.path = strdup(path), .fault = MANIFEST_DAMAGED};
  if (!saved->checkpoint.path) {
    saved->failure = ENOMEM;
    return false;
  }
  snprintf(file, sizeof file, "%.4096s/%s", path, MANIFEST_FILE);
  char *text = read_file(file, &bytes, &saved->failure);
  if (!text) return false;
  saved->bytes = (int64_t)bytes;
  saved->fault = manifest_read(&saved->checkpoint.manifest, text, bytes, saved->why);
  free(text);
  if (saved->fault == MANIFEST_WHOLE &&
      !manifest_is_of(&saved->checkpoint.manifest, path, saved->why))
    saved->fault = MANIFEST_DAMAGED;
  return saved->fault == MANIFEST_WHOLE;
}

void saved_close(SavedOpen *saved) {
  manifest_close(&saved->checkpoint.manifest);
  free(saved->checkpoint.path);
}

ExitCode saved_open_word(Compile *c, const Options *options, const char *word, SavedOpen *saved) {
  const char *path;
  *saved = (SavedOpen){0};
  const ExitCode found = saved_find(c, options, word, &path), none = where_code(options);
  if (path == NULL || saved_open(saved, path)) return found;
  if (saved->failure != 0)
    return complain(saved->failure == ENOENT ? none : EXIT_WORLD, "%s/%s: cannot be read: %s", path,
                    MANIFEST_FILE, strerror(saved->failure));
  return complain(saved->fault == MANIFEST_NO_MEMORY ? EXIT_WORLD : none, "%s/%s %s", path,
                  MANIFEST_FILE, saved->why);
}

int64_t saved_bytes(const Manifest *manifest) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < manifest->part_count; i++)
    bytes += (int64_t)manifest->part[i].file_bytes;
  return bytes;
}

/* ---- a folder */

/* The sizes of the parts are those of the manifest. */
static void judge_sizes(Arena *arena, const Manifest *manifest, Saved *saved) {
  int folder = open(saved->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int32_t i = 0; folder >= 0 && i < manifest->part_count; i++) {
    struct stat about;
    char name[PART_FILE_NAME_BYTES];
    part_file_name(name, manifest->part[i].number);
    bool is_there = fstatat(folder, name, &about, 0) == 0;
    if (is_there && about.st_size == (off_t)manifest->part[i].file_bytes) continue;
    saved->state = SAVED_DAMAGED;
    saved->why =
        is_there ? arena_printf(arena, "%s has %lld bytes, and %lld were written", name,
                                (long long)about.st_size, (long long)manifest->part[i].file_bytes)
                 : arena_printf(arena, "%s: %s", name, strerror(errno));
    break;
  }
  if (folder >= 0) (void)close(folder);
}

static bool is_milestone(const Manifest *manifest) {
  const char *steps = saved_setting(&manifest->plan, "checkpoint.milestone");
  int64_t every = steps ? strtoll(steps, NULL, 10) : 0; /* "none": 0 */
  return every > 0 && manifest->facts.step % every == 0;
}

static void judge(Arena *arena, Saved *saved) {
  SavedOpen open;
  bool is_good = saved_open(&open, saved->path);
  if (is_good) {
    saved->state = SAVED_WHOLE;
    saved->bytes = saved_bytes(&open.checkpoint.manifest);
    saved->parts = open.checkpoint.manifest.part_count;
    if (saved->kept == KEPT_NEWEST && is_milestone(&open.checkpoint.manifest))
      saved->kept = KEPT_MILESTONE;
    judge_sizes(arena, &open.checkpoint.manifest, saved);
  } else {
    saved->state = open.fault == MANIFEST_FOREIGN ? SAVED_FOREIGN : SAVED_DAMAGED;
    saved->why = open.failure ? arena_printf(arena, "%s: %s", MANIFEST_FILE, strerror(open.failure))
                              : arena_printf(arena, "%s %s", MANIFEST_FILE, open.why);
  }
  saved_close(&open);
}

/* The highest step below `below` that a folder in this one is named by; -1: none. */
static int64_t newest_below(const char *folder, int64_t below) {
  int64_t newest = -1;
  DIR *items = opendir(folder);
  for (struct dirent *item; items && (item = readdir(items)) != NULL;) {
    int64_t step = saved_step(item->d_name, NULL);
    if (step < below && step > newest && item->d_type != DT_REG) newest = step;
  }
  if (items) closedir(items);
  return newest;
}

bool saved_newest(Arena *arena, const char *folder, Saved *whole, Saved *newest) {
  *whole = *newest = (Saved){.step = newest_below(folder, INT64_MAX), .why = ""};
  while (whole->step >= 0) {
    whole->path = arena_printf(arena, "%s/step_%08lld", folder, (long long)whole->step);
    judge(arena, whole);
    if (newest->path == NULL) *newest = *whole;
    if (whole->state == SAVED_WHOLE) return true;
    *whole = (Saved){.step = newest_below(folder, whole->step), .why = ""};
  }
  return false;
}

/* Parts that a folder has, for one that has no manifest to say it. */
static void count_parts(Saved *saved) {
  DIR *items = opendir(saved->path);
  for (struct dirent *item; items && (item = readdir(items)) != NULL;) {
    struct stat about;
    bool is_part = strncmp(item->d_name, "part-", 5) == 0;
    if (!is_part || fstatat(dirfd(items), item->d_name, &about, 0) != 0) continue;
    saved->bytes += about.st_size;
    saved->parts++;
  }
  if (items) closedir(items);
}

/* Every name that begins as a step's folder does, with any text after its digits. */
static void add_saved(Arena *arena, const char *folder, const char *name, SavedKept kept,
                      SavedList *list) {
  const char *rest = "";
  struct stat about;
  Saved saved = {.step = saved_step(name, &rest), .kept = kept, .why = ""};
  if (saved.step < 0) return;
  saved.path = arena_printf(arena, "%s/%s", folder, name);
  if (stat(saved.path, &about) != 0) return;
  size_t length = strlen(rest);
  bool is_new = length > 4 && strcmp(rest + length - 4, ".new") == 0;
  if (strncmp(rest, ".ckpt", 5) == 0) { /* a file of format 4 or before; of a rank, with ".r" */
    if (strcmp(rest, ".ckpt") != 0) return;
    saved.state = SAVED_FOREIGN;
    saved.why = "a file, as formats before 5 are";
    saved.bytes = about.st_size;
    saved.parts = 1;
  } else if (S_ISDIR(about.st_mode) && *rest == 0) {
    judge(arena, &saved);
  } else if (S_ISDIR(about.st_mode) && (is_new || strcmp(rest, ".old") == 0)) {
    saved.state = SAVED_UNFINISHED;
    saved.why = is_new ? "it is being written, or was not finished" : "it is being removed";
  } else {
    return;
  }
  if (saved.parts == 0) count_parts(&saved);
  VEC_PUSH(arena, list, saved);
}

static void list_folder(Arena *arena, const char *folder, SavedKept kept, SavedList *list) {
  DIR *items = opendir(folder);
  for (struct dirent *item; items && (item = readdir(items)) != NULL;) {
    if (strncmp(item->d_name, "earlier.", 8) == 0 && kept != KEPT_EARLIER)
      list_folder(arena, arena_printf(arena, "%s/%s", folder, item->d_name), KEPT_EARLIER, list);
    else
      add_saved(arena, folder, item->d_name, kept, list);
  }
  if (items) closedir(items);
}

static int by_step(const void *a, const void *b) {
  const Saved *left = a, *right = b;
  if (left->step != right->step) return left->step < right->step ? -1 : 1;
  return strcmp(left->path, right->path);
}

void saved_list(Arena *arena, const char *folder, SavedList *list) {
  list_folder(arena, folder, KEPT_NEWEST, list);
  if (list->count > 0) qsort(list->at, (size_t)list->count, sizeof *list->at, by_step);
}

/* ---- WHERE */

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static const char *without_slashes(Arena *arena, const char *path) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    length--;
  return arena_copy_n(arena, path, length);
}

/* The folder has names of steps, or folders that a run has moved them to. */
static bool has_steps(const char *folder) {
  bool has = false;
  const char *rest;
  DIR *items = opendir(folder);
  for (struct dirent *item; !has && items && (item = readdir(items)) != NULL;)
    has = saved_step(item->d_name, &rest) >= 0 || strncmp(item->d_name, "earlier.", 8) == 0;
  if (items) closedir(items);
  return has;
}

const char *saved_folder(Arena *arena, const char *run) {
  JsonFault fault;
  int failure;
  const char *path = arena_printf(arena, "%s/job.json", run), *set = NULL;
  json_t *record = json_read_file(path, RECORD_BYTES_MAX, &failure, &fault);
  const json_t *settings = json_object_get(record, "settings");
  const json_t *setting = json_object_get(settings, "checkpoint.path");
  const char *origin = json_text(setting, "origin");
  /* A run folder that was moved or copied has its checkpoints with it. */
  const bool is_inside = origin != NULL && strcmp(origin, "default") == 0;
  set = is_inside ? NULL : json_text(setting, "value");
  const char *folder = set ? arena_copy(arena, set) : arena_printf(arena, "%s/checkpoint", run);
  json_decref(record);
  return is_folder(folder) ? folder : arena_printf(arena, "%s/checkpoint", run);
}

static ExitCode where_is_unreadable(const char *path) {
  return complain(EXIT_WORLD, "%s: cannot be read: %s", path, strerror(errno));
}

static ExitCode where_of_job(Compile *c, const Options *options, const char *file,
                             SavedWhere *where) {
  const Job *job;
  const ExitCode code = job_of_word(c, options, file, &job);
  if (code != EXIT_DONE) return code;
  where->folder = job->checkpoint.path;
  if (is_folder(where->folder)) return EXIT_DONE;
  return complain(where_code(options), "%s has no checkpoint yet: there is no %s", file,
                  where->folder);
}

/* A run, or a folder of checkpoints; a folder with neither holds no checkpoints. */
static ExitCode where_of_folder(Compile *c, const Options *options, const char *path,
                                SavedWhere *where) {
  const char *run = NULL;
  const bool has_them = is_folder(path) && has_steps(path);
  const ExitCode code = has_them ? EXIT_DONE : run_folder(c, options, path, &run);
  if (code != EXIT_DONE) return code;
  where->folder = path;
  if (run != NULL) {
    const char *folder = saved_folder(c->arena, run);
    where->folder = is_folder(folder) ? folder : run;
  }
  DIR *items = opendir(where->folder);
  if (items == NULL) return where_is_unreadable(where->folder);
  closedir(items);
  return EXIT_DONE;
}

ExitCode saved_where(Compile *c, const Options *options, const char *word, SavedWhere *where) {
  const size_t length = strlen(word);
  *where = (SavedWhere){0};
  if (length > 4 && strcmp(word + length - 4, ".lua") == 0)
    return where_of_job(c, options, word, where);
  const char *path = without_slashes(c->arena, word), *slash = strrchr(path, '/'), *rest;
  const bool is_there = access(path, F_OK) == 0;
  if (!is_there && errno != ENOENT && errno != ENOTDIR) return where_is_unreadable(path);
  const bool is_one = saved_step(slash ? slash + 1 : path, &rest) >= 0 ||
                      access(arena_printf(c->arena, "%s/%s", path, MANIFEST_FILE), F_OK) == 0;
  if (is_there && is_one) {
    where->one = path;
    where->folder = slash ? arena_copy_n(c->arena, path, (size_t)(slash - path)) : ".";
    return EXIT_DONE;
  }
  if (is_one) return complain(where_code(options), "%s: there is no such checkpoint", path);
  if (!is_there || is_folder(path)) return where_of_folder(c, options, path, where);
  return complain(
      where_code(options),
      "%s is a file, and no checkpoint: name a run folder, a name in runs/, a job file, "
      "a folder of checkpoints or one of them",
      path);
}

ExitCode saved_find(Compile *c, const Options *options, const char *word, const char **path) {
  SavedWhere where;
  *path = NULL;
  const ExitCode code = saved_where(c, options, word, &where);
  if (code != EXIT_DONE || where.folder == NULL) return code;
  const int64_t step = where.one ? -1 : newest_below(where.folder, INT64_MAX);
  if (where.one)
    *path = where.one;
  else if (step >= 0)
    *path = arena_printf(c->arena, "%s/step_%08lld", where.folder, (long long)step);
  else
    return complain(where_code(options), "%s has no whole checkpoint", where.folder);
  return EXIT_DONE;
}

/* ---- names */

const char *saved_setting(const Plan *plan, const char *key) {
  for (uint32_t i = 0; i < plan->settings_count; i++)
    if (strcmp(plan_string(plan, plan->settings[i].key), key) == 0)
      return plan_string(plan, plan->settings[i].text);
  return NULL;
}

const char *saved_kind(const State *state, const StateItem *item) {
  return state_kind_of(state_tensor(state, item)->kind)->name;
}

const char *saved_key(Arena *arena, const State *state, const StateItem *item) {
  const char *kind = saved_kind(state, item);
  if (strcmp(kind, "param") == 0) return arena_copy(arena, item->name);
  return arena_printf(arena, "%s/%s", item->name, kind);
}
