/* runs.c -- see runs.h. */
#include "compiler/show/cli/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/json/json.h"

bool folder_and_above(Arena *arena, const char *path) {
  char *part = arena_copy(arena, path);
  for (char *p = part + 1; *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    if (mkdir(part, 0777) != 0 && errno != EEXIST) return false;
    *p = '/';
  }
  return mkdir(part, 0777) == 0 || errno == EEXIST;
}

bool folder_fresh(Arena *arena, const char *path, ExitCode *code) {
  char *above = arena_copy(arena, path), *slash = strrchr(above, '/');
  if (slash != NULL && slash != above) *slash = '\0';
  if (slash != NULL && slash != above && !folder_and_above(arena, above))
    *code = cannot_write(above, errno);
  else if (mkdir(path, 0777) == 0)
    return true;
  else if (errno == EEXIST)
    *code = complain(EXIT_USER,
                     "%s is there already: another program is writing it, or one that was killed "
                     "has left it; remove it then",
                     path);
  else
    *code = cannot_write(path, errno);
  return false;
}

bool folder_sync(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool is_synced = folder >= 0 && fsync(folder) == 0;
  int failure = errno;
  if (folder >= 0) (void)close(folder);
  errno = failure;
  return is_synced;
}

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Cuts the last name off. False: there is only one. */
static bool cut_name(char *path) {
  char *slash = strrchr(path, '/');
  if (slash == NULL || slash == path) return false;
  *slash = 0;
  return true;
}

size_t folders_there(Arena *arena, const char *path) {
  char *part = arena_copy(arena, path);
  while (!is_folder(part))
    if (!cut_name(part)) return 0;
  return strlen(part);
}

void folders_remove(Arena *arena, const char *path, size_t there) {
  char *part = arena_copy(arena, path);
  while (strlen(part) > there && rmdir(part) == 0 && cut_name(part))
    continue;
}

/* The run below runs/ that a job of Slurm's belongs to, by its number; NULL: none does. */
static const char *folder_of_job(Arena *arena, const char *number) {
  const char *found = NULL;
  DIR *directory = opendir("runs");
  for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    const char *folder = arena_printf(arena, "runs/%s", entry->d_name);
    TextList jobs = run_jobs(arena, folder);
    bool is_its = strcmp(run_event(arena, folder, "start", "job"), number) == 0;
    for (int32_t i = 0; i < jobs.count; i++)
      is_its |= strcmp(jobs.at[i], number) == 0;
    if (is_its) found = folder;
  }
  if (directory) closedir(directory);
  return found;
}

ExitCode job_of_word(Compile *c, const Options *options, const char *file, const Job **job) {
  *job = spec_load(c, file, options->overrides.at, options->overrides.count);
  if (*job != NULL) return EXIT_DONE;
  const ExitCode code = report(c, options);
  return code == EXIT_DONE || code == EXIT_USER ? where_code(options) : code;
}

ExitCode run_folder(Compile *c, const Options *options, const char *word, const char **folder) {
  size_t length = strlen(word);
  const char *file = NULL;
  const Job *job;
  *folder = NULL;
  if (length > 4 && strcmp(word + length - 4, ".lua") == 0) {
    const ExitCode code = job_of_word(c, options, word, &job);
    if (code != EXIT_DONE) return code;
    file = word;
    word = job->log.dir;
  }
  const char *below = arena_printf(c->arena, "runs/%s", word);
  bool is_number = *word && word[strspn(word, "0123456789")] == 0;
  if (is_folder(word))
    *folder = arena_copy(c->arena, word);
  else if (is_folder(below))
    *folder = below;
  else if (is_number)
    *folder = folder_of_job(c->arena, word);
  if (*folder != NULL) return EXIT_DONE;
  if (file) return complain(where_code(options), "%s has no run yet: there is no %s", file, word);
  return complain(
      where_code(options),
      "there is no run %s here%s%s: name a run folder, a name in runs/, a job file or the number "
      "of a job",
      word, *word == '/' ? "" : ", nor ", *word == '/' ? "" : below);
}

TextList run_jobs(Arena *arena, const char *folder) {
  FILE *file = fopen(arena_printf(arena, "%s/slurm/job", folder), "r");
  TextList jobs = {0};
  char line[64];
  while (file && fgets(line, sizeof line, file))
    if (strtoll(line, NULL, 10) > 0)
      VEC_PUSH(arena, &jobs, arena_copy_n(arena, line, strspn(line, "0123456789")));
  if (file) fclose(file);
  const char *by_hand = jobs.count == 0 ? run_event(arena, folder, "start", "job") : "";
  if (*by_hand) VEC_PUSH(arena, &jobs, by_hand);
  return jobs;
}

bool run_keep_jobs(Arena *arena, const char *folder, const TextList *jobs) {
  const char *path = arena_printf(arena, "%s/slurm/job", folder),
             *fresh = arena_printf(arena, "%s.new", path);
  if (jobs->count == 0) return unlink(path) == 0 || errno == ENOENT;
  FILE *file = fopen(fresh, "w");
  if (!file) return false;
  bool is_good = fprintf(file, "%s\n", joined_texts(arena, jobs, "\n")) > 0;
  return fclose(file) == 0 && is_good && rename(fresh, path) == 0;
}

static const char *unnumbered_path(Arena *arena, const char *folder) {
  return arena_printf(arena, "%s/slurm/unnumbered", folder);
}

bool run_is_unnumbered(Arena *arena, const char *folder) {
  return access(unnumbered_path(arena, folder), F_OK) == 0;
}

bool run_keep_unnumbered(Arena *arena, const char *folder, bool is_unnumbered) {
  const char *path = unnumbered_path(arena, folder);
  if (!is_unnumbered) return unlink(path) == 0 || errno == ENOENT;
  FILE *file = fopen(path, "w");
  return file && fclose(file) == 0;
}

bool run_keep_cancel(Arena *arena, const char *folder, const char *job) {
  FILE *file = fopen(arena_printf(arena, "%s/slurm/events.jsonl", folder), "a");
  if (!file) return false;
  fprintf(file, "{\"time\":%lld.000,\"job\":%s,\"event\":\"cancel\"}\n", (long long)time(NULL),
          job);
  return fclose(file) == 0;
}

const char *joined_texts(Arena *arena, const TextList *list, const char *separator) {
  const char *text = "";
  for (int32_t i = 0; i < list->count; i++)
    text = arena_printf(arena, "%s%s%s", text, i ? separator : "", list->at[i]);
  return text;
}

/* The first value of that key, in the order of the text; NULL: none. */
static const json_t *find_key(const json_t *value, const char *key) {
  const json_t *found = json_object_get(value, key);
  const char *name;
  json_t *inner;
  size_t i;
  if (found) return found;
  json_object_foreach((json_t *)value, name, inner) {
    if (!found) found = find_key(inner, key);
  }
  json_array_foreach((json_t *)value, i, inner) {
    if (!found) found = find_key(inner, key);
  }
  return found;
}

/* With the fewest digits that read back as the same number. */
static const char *real_text(Arena *arena, double value) {
  static const int32_t digits[] = {9, 15, 17};
  const char *text = "";
  for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
    text = arena_printf(arena, "%.*g", digits[i], value);
    if (strtod(text, NULL) == value) break;
  }
  return text;
}

/* As the file has it; a text in one line. */
static const char *value_text(Arena *arena, const json_t *value) {
  if (json_is_integer(value)) return arena_printf(arena, "%lld", json_integer_value(value));
  if (json_is_real(value)) return real_text(arena, json_real_value(value));
  if (json_is_null(value)) return "null";
  if (json_is_boolean(value)) return json_is_true(value) ? "true" : "false";
  if (!json_is_string(value)) return "";
  char *text = arena_copy(arena, json_string_value(value));
  for (char *at = text; *at; at++)
    if (*at == '\n') *at = ' ';
  return text;
}

const char *json_value(Arena *arena, const char *text, const char *key) {
  JsonFault fault;
  json_t *root = json_read(text, strlen(text), &fault);
  const char *found = value_text(arena, find_key(root, key));
  json_decref(root);
  return found;
}

const char *last_line(Arena *arena, const char *path, const char *begin) {
  FILE *file = fopen(path, "r");
  char *line = NULL;
  size_t room = 0;
  const char *last = "";
  while (file && getline(&line, &room, file) > 0)
    if (strncmp(line, begin, strlen(begin)) == 0 && strchr(line, '\n'))
      last = arena_copy(arena, line);
  free(line);
  if (file) fclose(file);
  return last;
}

const char *run_event(Arena *arena, const char *folder, const char *event, const char *key) {
  FILE *file = fopen(arena_printf(arena, "%s/slurm/events.jsonl", folder), "r");
  char *line = NULL;
  size_t room = 0;
  const char *value = "";
  while (file && getline(&line, &room, file) > 0) {
    const char *kind = json_value(arena, line, "event");
    if (event ? strcmp(kind, event) != 0 : strcmp(kind, "note") == 0) continue;
    const char *found = json_value(arena, line, key);
    if (*found) value = found;
  }
  free(line);
  if (file) fclose(file);
  return value;
}
