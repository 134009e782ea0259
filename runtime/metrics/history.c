/* history.c -- reads lines of metrics.jsonl; a line's step is where files.c puts it. */
#include "runtime/metrics/history.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct HistoryLine {
  int64_t step; /* 0: not of a step, always kept */
  double train; /* NAN: not in the line */
  double valid;
  bool is_whole;
} HistoryLine;

static double number_of(const char *line, const char *key) {
  const char *at = strstr(line, key);
  char *end = NULL;
  double value = at ? strtod(at + strlen(key), &end) : NAN;
  return at && end != at + strlen(key) ? value : NAN;
}

static HistoryLine parse(const char *text, size_t length) {
  HistoryLine line = {
      .train = NAN, .valid = NAN, .is_whole = length > 0 && text[length - 1] == '\n'};
  double step = NAN;
  if (strncmp(text, "{\"step\":", 8) == 0) {
    step = number_of(text, "\"step\":");
    line.train = number_of(text, "\"loss\":");
  } else if (strncmp(text, "{\"valid_step\":", 14) == 0) {
    step = number_of(text, "\"valid_step\":");
    line.valid = number_of(text, "\"valid_loss\":");
  } else if (strncmp(text, "{\"save_step\":", 13) == 0) {
    step = number_of(text, "\"save_step\":");
  } else if (strncmp(text, "{\"header\":", 10) == 0)
    step = number_of(text, "\"first_step\":");
  if (isfinite(step)) line.step = (int64_t)step;
  return line;
}

static bool is_kept(const HistoryLine *line, int64_t first_step) {
  return line->is_whole && line->step < first_step;
}

static void note(History *history, const HistoryLine *line) {
  if (isfinite(line->train)) curve_add(history->train, (double)line->step, line->train);
  if (!isfinite(line->valid)) return;
  curve_add(history->valid, (double)line->step, line->valid);
  history->best_valid = fmin(history->best_valid, line->valid);
}

/* Counts the lines that are kept and those that are not. Kept lines are copied to `out`, or added
 * to the history if `out` is NULL. False: reading or writing failed; errno says why. */
static bool sift(FILE *file, int64_t first_step, FILE *out, History *history, int64_t count[2]) {
  char *text = NULL;
  size_t room = 0;
  bool good = true;
  count[false] = count[true] = 0;
  errno = 0;
  for (ssize_t length; good && (length = getline(&text, &room, file)) > 0;) {
    HistoryLine line = parse(text, (size_t)length);
    bool kept = is_kept(&line, first_step);
    count[kept]++;
    if (kept && out) good = fwrite(text, 1, (size_t)length, out) == (size_t)length;
    if (kept && !out) note(history, &line);
  }
  free(text);
  return good && !ferror(file);
}

static int64_t number_in(const char *file_name) {
  static const char prefix[] = "metrics.";
  if (strncmp(file_name, prefix, sizeof prefix - 1) != 0) return 0;
  char *rest;
  long long number = strtoll(file_name + sizeof prefix - 1, &rest, 10);
  return number > 0 && strcmp(rest, ".jsonl") == 0 ? number : 0;
}

/* The highest number in use, and how many files there are; `oldest` is the lowest number. */
static int64_t newest_number(const char *folder, int64_t *oldest, int32_t *count) {
  int64_t newest = 0;
  *oldest = 0;
  *count = 0;
  DIR *items = opendir(folder);
  for (struct dirent *item; items && (item = readdir(items));) {
    int64_t number = number_in(item->d_name);
    if (number == 0) continue;
    ++*count;
    if (number > newest) newest = number;
    if (*oldest == 0 || number < *oldest) *oldest = number;
  }
  if (items) (void)closedir(items);
  return newest;
}

static void path_of(char path[HISTORY_PATH_BYTES], const char *folder, int64_t number) {
  if (number > 0)
    (void)snprintf(path, HISTORY_PATH_BYTES, "%.4000s/metrics.%lld.jsonl", folder,
                   (long long)number);
  else
    (void)snprintf(path, HISTORY_PATH_BYTES, "%.4000s/metrics.jsonl", folder);
}

static void remove_oldest(const char *folder) {
  char path[HISTORY_PATH_BYTES];
  int64_t oldest;
  int32_t count;
  (void)newest_number(folder, &oldest, &count);
  for (; count > HISTORY_KEEP; (void)newest_number(folder, &oldest, &count)) {
    path_of(path, folder, oldest);
    if (unlink(path) != 0) return; /* a file that cannot be removed does no harm */
  }
}

/* Writes only the kept lines to metrics.jsonl.new. */
static bool write_kept(FILE *file, int64_t first_step, const char *path, Status *status) {
  int64_t count[2];
  rewind(file);
  FILE *out = fopen(path, "w");
  bool good = out && sift(file, first_step, out, NULL, count);
  int failure = errno;
  if (out && fclose(out) != 0) {
    good = false;
    failure = errno;
  }
  if (good) return true;
  (void)unlink(path);
  return status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(failure));
}

static bool move_aside(History *history, const char *folder, FILE *file, int64_t first_step,
                       bool some_stay, Status *status) {
  char path[HISTORY_PATH_BYTES], fresh[HISTORY_PATH_BYTES + 8];
  int64_t oldest;
  int32_t count;
  path_of(path, folder, 0);
  (void)snprintf(fresh, sizeof fresh, "%s.new", path);
  if (some_stay && !write_kept(file, first_step, fresh, status)) return false;
  path_of(history->moved_to, folder, newest_number(folder, &oldest, &count) + 1);
  if (rename(path, history->moved_to) != 0 || (some_stay && rename(fresh, path) != 0))
    return status_fail(status, STATUS_WORLD, "%s: cannot be renamed: %s", path, strerror(errno));
  remove_oldest(folder);
  return true;
}

bool history_take_up(History *history, const char *folder, int64_t first_step, Status *status) {
  char path[HISTORY_PATH_BYTES];
  int64_t count[2] = {0, 0};
  history->best_valid = INFINITY;
  history->moved_to[0] = 0;
  path_of(path, folder, 0);
  FILE *file = fopen(path, "r");
  if (!file && errno == ENOENT) return true;
  bool read = file && sift(file, first_step, NULL, history, count);
  bool good =
      read || status_fail(status, STATUS_WORLD, "%s: cannot be read: %s", path, strerror(errno));
  /* For a new run, lines without a step are also dropped. */
  bool some_stay = first_step > 1 && count[true] > 0;
  if (good && (count[false] > 0 || (count[true] > 0 && !some_stay)))
    good = move_aside(history, folder, file, first_step, some_stay, status);
  if (file) (void)fclose(file);
  return good;
}
