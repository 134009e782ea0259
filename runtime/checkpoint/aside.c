/* aside.c -- checkpoints of another course of the run are moved, never mixed with the new one's.
 *
 * A run that starts at step s writes steps from s on. Files of later steps that are there already
 * would be taken for newer ones: they would be resumed from, and the new ones removed as the
 * oldest. Parts without rank 0's file go with them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/checkpoint.h"

static int64_t any_from(const char *directory, int64_t first_step, char name[256]) {
  DIR *folder = opendir(directory);
  int64_t found = -1;
  for (struct dirent *item; folder && found < 0 && (item = readdir(folder));) {
    const char *rest = "";
    int64_t step = checkpoint_step_of(item->d_name, &rest);
    bool is_file = *rest == '\0' || strncmp(rest, ".r", 2) == 0;
    if (step < first_step || !is_file) continue;
    (void)snprintf(name, 256, "%s", item->d_name);
    found = step;
  }
  if (folder) (void)closedir(folder);
  return found;
}

bool checkpoint_set_aside(const char *directory, int64_t first_step, CheckpointAside *aside,
                          Status *status) {
  char name[256], from[CHECKPOINT_PATH_BYTES], to[CHECKPOINT_PATH_BYTES + 256];
  *aside = (CheckpointAside){0};
  bool moves = false;
  while (any_from(directory, first_step, name) >= 0) {
    for (int32_t n = 1; !moves; n++) {
      (void)snprintf(aside->path, sizeof aside->path, "%.*s/earlier.%d", CHECKPOINT_PATH_BYTES - 32,
                     directory, n);
      moves = mkdir(aside->path, 0777) == 0;
      if (moves) break;
      if (errno != EEXIST)
        return status_fail(status, STATUS_WORLD, "%s: cannot be made: %s", aside->path,
                           strerror(errno));
    }
    (void)snprintf(from, sizeof from, "%.*s/%s", CHECKPOINT_PATH_BYTES - 260, directory, name);
    (void)snprintf(to, sizeof to, "%s/%s", aside->path, name);
    if (rename(from, to) != 0)
      return status_fail(status, STATUS_WORLD, "%s: cannot be moved: %s", from, strerror(errno));
    aside->count += checkpoint_step_of(name, NULL) >= 0;
  }
  return true;
}
