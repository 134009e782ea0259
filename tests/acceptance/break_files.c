/* break_files.c -- loaded into the ranks of a test: calls on files of checkpoints fail. BREAK_FILES
 * is "CALL COUNT FROM": so many calls, the first FROM of them well.
 *   fallocate  there is no room
 *   pwrite     the disk is full;  short  writes half of what it is given, which is no failure
 *   fsync      EIO
 *   rename     of a checkpoint's folder: done, and the answer is lost, as on NFS
 *   slow       every sync takes COUNT ms */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int calls;

static int is_part(int file) {
  char link[64], path[4096];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  return strstr(path, "/part-") != NULL;
}

static int is_broken(const char *call) {
  const char *how = getenv("BREAK_FILES");
  char name[32];
  int count = 0, from = 0;
  if (how == NULL || sscanf(how, "%31s %d %d", name, &count, &from) < 2 || strcmp(name, call) != 0)
    return 0;
  int number = atomic_fetch_add(&calls, 1);
  return number >= from && number < from + count;
}

int fallocate(int file, int mode, off_t offset, off_t length) {
  typedef int Fallocate(int, int, off_t, off_t);
  Fallocate *next = (Fallocate *)dlsym(RTLD_NEXT, "fallocate");
  if (!is_part(file) || !is_broken("fallocate")) return next(file, mode, offset, length);
  errno = ENOSPC;
  return -1;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  typedef ssize_t Pwrite(int, const void *, size_t, off_t);
  Pwrite *next = (Pwrite *)dlsym(RTLD_NEXT, "pwrite");
  if (is_part(file) && count > 1 && is_broken("short")) return next(file, bytes, count / 2, offset);
  if (!is_part(file) || !is_broken("pwrite")) return next(file, bytes, count, offset);
  errno = ENOSPC;
  return -1;
}

int fsync(int file) {
  typedef int Fsync(int);
  Fsync *next = (Fsync *)dlsym(RTLD_NEXT, "fsync");
  const char *how = getenv("BREAK_FILES");
  if (is_part(file) && how != NULL && strncmp(how, "slow ", 5) == 0)
    (void)nanosleep(&(struct timespec){0, 1000000L * atoi(how + 5)}, NULL);
  if (!is_part(file) || !is_broken("fsync")) return next(file);
  errno = EIO;
  return -1;
}

int rename(const char *from, const char *to) {
  typedef int Rename(const char *, const char *);
  Rename *next = (Rename *)dlsym(RTLD_NEXT, "rename");
  int ended = next(from, to);
  if (strstr(from, ".new") == NULL || strstr(to, "/step_") == NULL || !is_broken("rename"))
    return ended;
  errno = ENOENT;
  return -1;
}
