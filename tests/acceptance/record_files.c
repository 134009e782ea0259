/* record_files.c -- loaded into the ranks of a test: records the calls that change files below
 * RECORD_FOLDER, with their bytes, and what is written to stdout and stderr, in the order in which
 * they happened, into RECORD_LOG.PROCESS. crash_images.py makes of them what a crash may leave.
 *   TIME CALL OFFSET COUNT PATH<nl>BYTES   ; of rename and link PATH is FROM<tab>TO */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define NEXT(type, name) ((type *)dlsym(RTLD_NEXT, name))
typedef int Open(const char *, int, ...);
typedef ssize_t Write(int, const void *, size_t);
typedef ssize_t Pwrite(int, const void *, size_t, off_t);

static int log_file(void) {
  static int file = -1;
  char path[PATH_BYTES];
  const char *name = getenv("RECORD_LOG");
  if (file >= 0 || name == NULL) return file;
  (void)snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
  file = NEXT(Open, "open")(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  return file;
}

static void note(const char *call, const char *path, off_t offset, const void *bytes,
                 size_t count) {
  char head[3 * PATH_BYTES];
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int length =
      snprintf(head, sizeof head, "%lld %s %lld %zu %s\n", now.tv_sec * 1000000000LL + now.tv_nsec,
               call, (long long)offset, count, path);
  (void)!NEXT(Write, "write")(log_file(), head, (size_t)length);
  if (count > 0) (void)!NEXT(Write, "write")(log_file(), bytes, count);
}

static int is_below(const char *path) {
  const char *folder = getenv("RECORD_FOLDER");
  return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

/* The whole path of a name, which may not be there. */
static const char *whole(char to[PATH_BYTES], int folder, const char *name) {
  char link[64], at[PATH_BYTES] = "";
  if (name[0] == '/') return name;
  (void)snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d",
                 folder);
  const ssize_t length = readlink(link, at, sizeof at - 1);
  at[length > 0 ? length : 0] = '\0';
  (void)snprintf(to, PATH_BYTES, "%.2000s/%.2000s", at, name);
  return to;
}

static const char *of_file(char to[PATH_BYTES], int file) {
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, to, PATH_BYTES - 1);
  to[length > 0 ? length : 0] = '\0';
  return to;
}

/* Calls are recorded when they have succeeded, one at a time. */
#define RECORD(call, path, offset, bytes, count, does)                                             \
  do {                                                                                             \
    pthread_mutex_lock(&lock);                                                                     \
    const long got = (does);                                                                       \
    const int failure = errno;                                                                     \
    if (got >= 0 && is_below(path)) note(call, path, offset, bytes, count);                        \
    pthread_mutex_unlock(&lock);                                                                   \
    errno = failure;                                                                               \
    return (__typeof__(does))got;                                                                  \
  } while (0)

int open(const char *path, int flags, ...) {
  char room[PATH_BYTES];
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if ((flags & O_CREAT) == 0) return NEXT(Open, "open")(path, flags, mode);
  const char *at = whole(room, AT_FDCWD, path);
  RECORD((flags & O_TRUNC) != 0 ? "create" : "touch", at, 0, NULL, 0,
         NEXT(Open, "open")(path, flags, mode));
}

ssize_t write(int file, const void *bytes, size_t count) {
  char path[PATH_BYTES];
  if (file == STDOUT_FILENO || file == STDERR_FILENO) {
    pthread_mutex_lock(&lock);
    note("say", "-", 0, bytes, count);
    pthread_mutex_unlock(&lock);
    return NEXT(Write, "write")(file, bytes, count);
  }
  const char *at = of_file(path, file);
  RECORD("append", at, 0, bytes, (size_t)got, NEXT(Write, "write")(file, bytes, count));
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  char path[PATH_BYTES];
  const char *at = of_file(path, file);
  RECORD("write", at, offset, bytes, (size_t)got,
         NEXT(Pwrite, "pwrite")(file, bytes, count, offset));
}

int fsync(int file) {
  typedef int Fsync(int);
  char path[PATH_BYTES];
  const char *at = of_file(path, file);
  RECORD("sync", at, 0, NULL, 0, NEXT(Fsync, "fsync")(file));
}

int mkdir(const char *path, mode_t mode) {
  typedef int Mkdir(const char *, mode_t);
  char room[PATH_BYTES];
  const char *at = whole(room, AT_FDCWD, path);
  RECORD("mkdir", at, 0, NULL, 0, NEXT(Mkdir, "mkdir")(path, mode));
}

static int pair(const char *call, const char *from, const char *to,
                int next(const char *, const char *)) {
  char a[PATH_BYTES], b[PATH_BYTES], both[2 * PATH_BYTES];
  (void)snprintf(both, sizeof both, "%s\t%s", whole(a, AT_FDCWD, from), whole(b, AT_FDCWD, to));
  RECORD(call, both, 0, NULL, 0, next(from, to));
}

int rename(const char *from, const char *to) {
  typedef int Rename(const char *, const char *);
  return pair("rename", from, to, NEXT(Rename, "rename"));
}

int link(const char *from, const char *to) {
  typedef int Link(const char *, const char *);
  return pair("link", from, to, NEXT(Link, "link"));
}

int unlinkat(int folder, const char *name, int flags) {
  typedef int Unlinkat(int, const char *, int);
  char room[PATH_BYTES];
  const char *at = whole(room, folder, name);
  RECORD("remove", at, 0, NULL, 0, NEXT(Unlinkat, "unlinkat")(folder, name, flags));
}

int unlink(const char *path) {
  typedef int Unlink(const char *);
  char room[PATH_BYTES];
  const char *at = whole(room, AT_FDCWD, path);
  RECORD("remove", at, 0, NULL, 0, NEXT(Unlink, "unlink")(path));
}

int rmdir(const char *path) {
  typedef int Rmdir(const char *);
  char room[PATH_BYTES];
  const char *at = whole(room, AT_FDCWD, path);
  RECORD("remove", at, 0, NULL, 0, NEXT(Rmdir, "rmdir")(path));
}
