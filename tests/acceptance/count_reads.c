/* count_reads.c -- loaded into the ranks of a test: which files of checkpoints a process opens, and
 * how many bytes it reads of them. A line for each goes to the file $COUNT_READS. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char *what, const char *name, long long bytes) {
  const char *log = getenv("COUNT_READS");
  char line[4096];
  int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  int length = snprintf(line, sizeof line, "%s %s %lld %d\n", what, name, bytes, (int)getpid());
  int file = log ? next(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (file < 0 || write(file, line, (size_t)length) != length) abort();
  close(file);
}

/* A folder is listed, and synced when a file got its name; neither is a file that is read. */
static int is_counted(const char *path, int flags) {
  return strstr(path, "/checkpoint/step_") != NULL && (flags & O_ACCMODE) == O_RDONLY;
}

int open(const char *path, int flags, ...) {
  int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  int file = next(path, flags, mode);
  if (file >= 0 && is_counted(path, flags)) note("open", strstr(path, "step_"), 0);
  return file;
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
  typedef ssize_t Pread(int, void *, size_t, off_t);
  char link[64], path[4096];
  Pread *next = (Pread *)dlsym(RTLD_NEXT, "pread");
  ssize_t done = next(file, bytes, count, offset);
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  if (done > 0 && is_counted(path, O_RDONLY)) note("read", strstr(path, "step_"), done);
  return done;
}

/* With $ROT a file decays when its pages are dropped from the cache. */
int posix_fadvise(int file, off_t offset, off_t count, int advice) {
  typedef int Advise(int, off_t, off_t, int);
  char link[64], byte = 0;
  Advise *next = (Advise *)dlsym(RTLD_NEXT, "posix_fadvise");
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  int rotten = getenv("ROT") != NULL ? open(link, O_RDWR | O_CLOEXEC) : -1;
  off_t at = lseek(file, 0, SEEK_END) / 2;
  if (rotten >= 0 && pread(rotten, &byte, 1, at) == 1) byte ^= 1;
  if (rotten >= 0 && pwrite(rotten, &byte, 1, at) != 1) abort();
  if (rotten >= 0) (void)close(rotten);
  return next(file, offset, count, advice);
}
