/* folder.c -- one mkdir a slash. */
#include "runtime/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

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
