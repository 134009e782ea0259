/* aside.c -- moves checkpoints of an earlier course of the run aside, so that they never mix with
 * new ones, and removes what an interrupted save has left.
 *
 * A run that starts at step s writes steps from s on. Existing files of later steps would be
 * mistaken for newer ones: runs would resume from them, and the new ones would be removed as the
 * oldest. They are moved to a folder earlier.N, of which the newest are kept. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/checkpoint.h"

enum { NAME_BYTES = 256, LONG_PATH_BYTES = CHECKPOINT_PATH_BYTES + 2 * NAME_BYTES };

/* Selects files of a folder; `given` is the first step of the run. */
typedef bool Chooses(const char *directory, const char *name, int64_t given);

/* The name of any selected file. False with status code 0: there is none. */
static bool find_any(const char *directory, Chooses *chooses, int64_t given, char name[NAME_BYTES],
                     Status *status) {
  status->code = 0;
  DIR *folder = opendir(directory);
  if (!folder && errno == ENOENT) return false;
  if (!folder)
    return status_fail(status, STATUS_WORLD, "%s: cannot be listed: %s", directory,
                       strerror(errno));
  bool found = false;
  errno = 0;
  for (struct dirent *item; !found && (item = readdir(folder));) {
    found = chooses(directory, item->d_name, given);
    if (found) (void)snprintf(name, NAME_BYTES, "%s", item->d_name);
    errno = 0;
  }
  int failure = errno;
  (void)closedir(folder);
  if (found || failure == 0) return found;
  return status_fail(status, STATUS_WORLD, "%s: cannot be listed: %s", directory,
                     strerror(failure));
}

/* A folder still under a temporary name, or on its way out. No other run writes here now: the
 * directory is locked. */
static bool is_left_over(const char *directory, const char *name, int64_t given) {
  (void)directory, (void)given;
  const char *rest = "";
  if (checkpoint_step_of(name, &rest) < 0) return false;
  size_t length = strlen(rest);
  return strcmp(rest, ".old") == 0 || (length >= 4 && strcmp(rest + length - 4, ".new") == 0);
}

/* Checkpoints of formats 1 to 4 are files: step_N.ckpt, and parts step_N.ckpt.rRRRRR. */
static bool is_of_later_step(const char *directory, const char *name, int64_t first_step) {
  (void)directory;
  const char *rest = "";
  int64_t step = checkpoint_step_of(name, &rest);
  return step >= first_step && (*rest == '\0' || strcmp(rest, ".ckpt") == 0 ||
                                strncmp(rest, ".ckpt.r", strlen(".ckpt.r")) == 0);
}

/* Removes a file, or a folder and its files. */
static bool remove_any(const char *path) {
  return unlink(path) == 0 || (errno == EISDIR && checkpoint_remove_folder(path));
}

static bool remove_left_overs(const char *directory, Status *status) {
  char name[NAME_BYTES], path[LONG_PATH_BYTES];
  while (find_any(directory, is_left_over, 0, name, status)) {
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    if (!remove_any(path))
      return status_fail(status, STATUS_WORLD, "%s: cannot be removed: %s", path, strerror(errno));
  }
  return status->code == 0;
}

static int64_t number_of(const char *name) {
  static const char prefix[] = "earlier.";
  if (strncmp(name, prefix, sizeof prefix - 1) != 0) return 0;
  char *end;
  long long number = strtoll(name + sizeof prefix - 1, &end, 10);
  return *end == 0 && number > 0 ? number : 0;
}

/* The numbers of the folders earlier.N; zeros if there are none. */
typedef struct EarlierNumbers {
  int64_t oldest, newest;
  int32_t count;
} EarlierNumbers;

static EarlierNumbers list_earlier(const char *directory) {
  EarlierNumbers numbers = {0};
  DIR *folder = opendir(directory);
  for (struct dirent *item; folder && (item = readdir(folder));) {
    int64_t number = number_of(item->d_name);
    if (number == 0) continue;
    if (numbers.count++ == 0 || number < numbers.oldest) numbers.oldest = number;
    if (number > numbers.newest) numbers.newest = number;
  }
  if (folder) (void)closedir(folder);
  return numbers;
}

static void earlier_path(char path[CHECKPOINT_PATH_BYTES], const char *directory, int64_t number) {
  (void)snprintf(path, CHECKPOINT_PATH_BYTES, "%.*s/earlier.%lld", CHECKPOINT_PATH_BYTES - 64,
                 directory, (long long)number);
}

/* Removes what a run has put there, and the folder unless it holds other files. */
static bool remove_earlier(const char *directory, int64_t number) {
  char folder[CHECKPOINT_PATH_BYTES], name[NAME_BYTES], path[LONG_PATH_BYTES];
  Status status = {0};
  earlier_path(folder, directory, number);
  while (find_any(folder, is_of_later_step, 0, name, &status)) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!remove_any(path)) return false;
  }
  (void)snprintf(path, sizeof path, "%s/job.json", folder); /* the record of the moved run */
  (void)unlink(path);
  return rmdir(folder) == 0;
}

static void remove_oldest(const char *directory, CheckpointAside *aside) {
  for (EarlierNumbers numbers = list_earlier(directory); numbers.count > CHECKPOINT_EARLIER_KEEP;
       numbers = list_earlier(directory)) {
    if (!remove_earlier(directory, numbers.oldest))
      return; /* then old files stay, which does no harm */
    aside->removed++;
  }
}

bool checkpoint_set_aside(const char *directory, int64_t first_step, CheckpointAside *aside,
                          Status *status) {
  char name[NAME_BYTES], from[LONG_PATH_BYTES], to[LONG_PATH_BYTES];
  *aside = (CheckpointAside){0};
  if (!remove_left_overs(directory, status)) return false;
  while (find_any(directory, is_of_later_step, first_step, name, status)) {
    if (aside->path[0] == 0) {
      earlier_path(aside->path, directory, list_earlier(directory).newest + 1);
      if (mkdir(aside->path, 0777) != 0)
        return status_fail(status, STATUS_WORLD, "%s: cannot be made: %s", aside->path,
                           strerror(errno));
    }
    (void)snprintf(from, sizeof from, "%s/%s", directory, name);
    (void)snprintf(to, sizeof to, "%s/%s", aside->path, name);
    if (rename(from, to) != 0)
      return status_fail(status, STATUS_WORLD, "%s: cannot be moved: %s", from, strerror(errno));
    aside->count += strstr(name, ".ckpt.r") == NULL;
  }
  if (status->code != 0) return false;
  if (aside->path[0] != 0) remove_oldest(directory, aside);
  return true;
}
