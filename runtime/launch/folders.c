/* folders.c -- made with mkdtemp, removed with nftw. */
#include "runtime/launch/folders.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char files_root[] = "/tmp", segments_root[] = "/dev/shm";
static const char prefix[] = "lockstep-ranks.";

enum { DEPTH_MOST = 16 };

static int remove_one(const char *path, const struct stat *state, int kind, struct FTW *at) {
  (void)state, (void)kind, (void)at;
  return remove(path);
}

void folders_remove(char path[FOLDERS_PATH_BYTES]) {
  if (*path) (void)nftw(path, remove_one, DEPTH_MOST, FTW_DEPTH | FTW_PHYS);
  *path = 0;
}

/* Only folders of the same user: others' cannot be removed and are not trusted. */
static bool is_left(const char *path, const char *name) {
  struct stat state;
  long pid = strtol(name + sizeof prefix - 1, NULL, 10);
  return pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH && lstat(path, &state) == 0 &&
         S_ISDIR(state.st_mode) && state.st_uid == getuid();
}

static void remove_left(const char *root) {
  char path[FOLDERS_PATH_BYTES];
  DIR *folder = opendir(root);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0 ||
        snprintf(path, sizeof path, "%s/%s", root, entry->d_name) >= (int)sizeof path)
      continue;
    if (is_left(path, entry->d_name)) folders_remove(path);
  }
  if (folder) (void)closedir(folder);
}

static bool make(const char *root, char path[FOLDERS_PATH_BYTES], Status *status) {
  remove_left(root);
  (void)snprintf(path, FOLDERS_PATH_BYTES, "%s/%s%ld.XXXXXX", root, prefix, (long)getpid());
  if (mkdtemp(path)) return true;
  int failure = errno;
  *path = 0;
  return status_fail(status, STATUS_WORLD, "%s: no folder can be made there: %s", root,
                     strerror(failure));
}

bool folders_open(char files[FOLDERS_PATH_BYTES], char segments[FOLDERS_PATH_BYTES],
                  Status *status) {
  return make(files_root, files, status) && make(segments_root, segments, status);
}
