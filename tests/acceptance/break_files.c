/* break_files.c -- loaded into the ranks of a test: calls on files of checkpoints fail. BREAK_FILES
 * is "CALL COUNT FROM": so many calls, the first FROM of them well.
 *   fallocate  there is no room
 *   pwrite     the disk is full;  short  writes half of what it is given, which is no failure;
 *              direct  a direct write is refused (EINVAL)
 *   fsync      EIO
 *   rename     of a checkpoint's folder: done, and the answer is lost, as on NFS
 *   slow       every sync takes COUNT ms
 *   kill       the process is killed (SIGKILL) before its COUNT-th call on a checkpoint;
 *              "kill COUNT memory": on one in memory */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static atomic_int calls;

static void path_of(int file, char path[4096]) {
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, 4095);
  path[length > 0 ? length : 0] = 0;
}

static int is_part(int file) {
  char path[4096];
  path_of(file, path);
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

/* BREAK_FILES=kill N [memory]: counts calls on checkpoints, or on those in memory only. */
static void may_die(const char *path) {
  const char *how = getenv("BREAK_FILES");
  if (how == NULL || strncmp(how, "kill ", 5) != 0 || strstr(path, "/step_") == NULL) return;
  if (strstr(how, " memory") != NULL && strncmp(path, "/dev/shm/", 9) != 0) return;
  if (atomic_fetch_add(&calls, 1) + 1 == atoi(how + 5)) (void)kill(getpid(), SIGKILL);
}

static void may_die_at(int file) {
  char path[4096];
  path_of(file, path);
  may_die(path);
}

int mkdir(const char *path, mode_t mode) {
  typedef int Mkdir(const char *, mode_t);
  Mkdir *next = (Mkdir *)dlsym(RTLD_NEXT, "mkdir");
  may_die(path);
  return next(path, mode);
}

int rmdir(const char *path) {
  typedef int Rmdir(const char *);
  Rmdir *next = (Rmdir *)dlsym(RTLD_NEXT, "rmdir");
  may_die(path);
  return next(path);
}

int unlinkat(int folder, const char *name, int flags) {
  typedef int Unlinkat(int, const char *, int);
  Unlinkat *next = (Unlinkat *)dlsym(RTLD_NEXT, "unlinkat");
  may_die_at(folder);
  return next(folder, name, flags);
}

int fallocate(int file, int mode, off_t offset, off_t length) {
  typedef int Fallocate(int, int, off_t, off_t);
  Fallocate *next = (Fallocate *)dlsym(RTLD_NEXT, "fallocate");
  may_die_at(file);
  if (!is_part(file) || !is_broken("fallocate")) return next(file, mode, offset, length);
  errno = ENOSPC;
  return -1;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  typedef ssize_t Pwrite(int, const void *, size_t, off_t);
  Pwrite *next = (Pwrite *)dlsym(RTLD_NEXT, "pwrite");
  may_die_at(file);
  if (is_part(file) && count > 1 && is_broken("short")) return next(file, bytes, count / 2, offset);
  if (is_part(file) && (fcntl(file, F_GETFL) & O_DIRECT) != 0 && is_broken("direct")) {
    errno = EINVAL;
    return -1;
  }
  if (!is_part(file) || !is_broken("pwrite")) return next(file, bytes, count, offset);
  errno = ENOSPC;
  return -1;
}

int fsync(int file) {
  typedef int Fsync(int);
  Fsync *next = (Fsync *)dlsym(RTLD_NEXT, "fsync");
  const char *how = getenv("BREAK_FILES");
  if (is_part(file) && how != NULL && strncmp(how, "slow ", 5) == 0)
    (void)nanosleep(&(struct timespec){atoi(how + 5) / 1000, 1000000L * (atoi(how + 5) % 1000)},
                    NULL);
  may_die_at(file);
  if (!is_part(file) || !is_broken("fsync")) return next(file);
  errno = EIO;
  return -1;
}

int rename(const char *from, const char *to) {
  typedef int Rename(const char *, const char *);
  Rename *next = (Rename *)dlsym(RTLD_NEXT, "rename");
  may_die(from);
  int ended = next(from, to);
  if (strstr(from, ".new") == NULL || strstr(to, "/step_") == NULL || !is_broken("rename"))
    return ended;
  errno = ENOENT;
  return -1;
}
