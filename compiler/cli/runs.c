/* runs.c -- see runs.h. */
#include "compiler/cli/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

const char *run_folder(Compile *c, const Options *options, const char *word) {
  size_t length = strlen(word);
  if (length > 4 && strcmp(word + length - 4, ".lua") == 0) {
    const Job *job = spec_load(c, word, options->overrides.at, options->overrides.count);
    if (!job) {
      report(c, options);
      return NULL;
    }
    word = job->log.dir;
  }
  const char *below = arena_printf(c->arena, "runs/%s", word);
  if (is_folder(word)) return arena_copy(c->arena, word);
  if (is_folder(below)) return below;
  complain(EXIT_USER,
           "there is no run %s here, nor %s: name a run folder, a name in runs/ or a job file",
           word, below);
  return NULL;
}

int64_t run_last_job(const char *folder) {
  char path[4200], text[64] = "";
  snprintf(path, sizeof path, "%s/slurm/job", folder);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  bool is_there = fgets(text, sizeof text, file) != NULL;
  fclose(file);
  return is_there ? strtoll(text, NULL, 10) : 0;
}

bool run_keep_job(const char *folder, const char *number) {
  char path[4200];
  snprintf(path, sizeof path, "%s/slurm/job", folder);
  FILE *file = fopen(path, "w");
  if (!file) return false;
  bool is_good = fprintf(file, "%.*s\n", (int)strcspn(number, ";"), number) > 0;
  return fclose(file) == 0 && is_good;
}

/* The text behind a quotation mark, in one line. */
static const char *json_text(Arena *arena, const char *p) {
  char *text = arena_alloc(arena, strlen(p) + 1), *to = text;
  for (; *p && *p != '"'; p++) {
    bool is_escape = *p == '\\' && p[1];
    p += is_escape;
    *to++ = *p;
    if (is_escape && *p == 'n') to[-1] = ' ';
  }
  *to = 0;
  return text;
}

const char *json_value(Arena *arena, const char *line, const char *key) {
  const char *at = strstr(line, arena_printf(arena, "\"%s\":", key));
  if (!at) return "";
  at += strlen(key) + 3;
  if (*at != '"') return arena_copy_n(arena, at, strcspn(at, ",}\n"));
  return json_text(arena, at + 1);
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
    if (event && strcmp(json_value(arena, line, "event"), event) != 0) continue;
    const char *found = json_value(arena, line, key);
    if (*found) value = found;
  }
  free(line);
  if (file) fclose(file);
  return value;
}
