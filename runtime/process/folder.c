/* folder.c -- one mkdir a slash. */
#include "runtime/process/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* True if the folder has entries besides "." and "..", and a lock. */
static bool holds_something(DIR *folder) {
  for (struct dirent *item; (item = readdir(folder));)
    if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 &&
        strcmp(item->d_name, "lock") != 0)
      return true;
  return false;
}

void folder_remove_unused(const char *path) {
  char lock[PATH_BYTES];
  DIR *folder = opendir(path);
  if (!folder) return;
  bool is_used = holds_something(folder);
  closedir(folder);
  if (is_used) return;
  if (snprintf(lock, sizeof lock, "%s/lock", path) < (int)sizeof lock) (void)unlink(lock);
  (void)rmdir(path);
}

void folder_clear(const char *path) {
  int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *items = at >= 0 ? fdopendir(at) : NULL;
  for (struct dirent *item; items && (item = readdir(items)) != NULL;)
    if (item->d_type != DT_DIR) (void)unlinkat(at, item->d_name, 0);
  if (items)
    (void)closedir(items);
  else if (at >= 0)
    (void)close(at);
  (void)rmdir(path);
}

bool folder_make(const char *path, Status *status) {
  char part[PATH_BYTES];
  size_t length = strlen(path);
  if (length >= sizeof part)
    return status_fail(status, STATUS_USER, "%.60s...: path is too long", path);
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i] != 0) continue;
    memcpy(part, path, i);
    part[i] = 0;
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
      return status_fail(status, STATUS_WORLD, "%s: cannot be made: %s", part, strerror(errno));
  }
  return true;
}
