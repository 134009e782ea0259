/* break_rank.c -- loaded into the ranks of a test: what a library or a disk may do to one of them.
 * In the process whose PMIX_RANK is $BREAK_RANK, SIGUSR2 calls PMIx_Abort, and files whose names
 * hold $BREAK_FILE cannot be opened. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int is_broken(void) {
  const char *own = getenv("PMIX_RANK"), *broken = getenv("BREAK_RANK");
  return own && broken && strcmp(own, broken) == 0;
}

int open(const char *path, int flags, ...) {
  const char *name = getenv("BREAK_FILE");
  if (name && is_broken() && strstr(path, name)) {
    errno = EIO;
    return -1;
  }
  int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  return next(path, flags, mode);
}

static void *wait_for_signal(void *argument) {
  sigset_t *set = argument;
  int number;
  if (sigwait(set, &number) == 0) (void)PMIx_Abort(42, "as a library does", NULL, 0);
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  static sigset_t set;
  pthread_t thread;
  if (!is_broken()) return;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
  (void)pthread_create(&thread, NULL, wait_for_signal, &set);
}
