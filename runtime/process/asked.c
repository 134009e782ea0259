/* asked.c -- see asked.h. */
#include "runtime/process/asked.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static const char *const names[ASKED_COUNT] = {[ASKED_STOP] = "stop", [ASKED_SAVE] = "save"};

bool asked_path(const char *folder, Asked what, char path[ASKED_PATH_BYTES]) {
  return snprintf(path, ASKED_PATH_BYTES, "%s/%s", folder, names[what]) < ASKED_PATH_BYTES;
}

bool asked_forget(const char *folder, char path[ASKED_PATH_BYTES]) {
  for (Asked what = 0; what < ASKED_COUNT; what++)
    if (asked_path(folder, what, path) && unlink(path) != 0 && errno != ENOENT) return false;
  return true;
}
