/* alloc_guard.c -- ends the process when anything in it, libraries included, allocates while
 * run_is_steady.
 *
 * A program that links this file has these functions instead of the C library's. The sanitizers
 * bring their own allocator: in their builds this file is empty. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <errno.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/rank/run.h"

enum { FRAMES_MAX = 32, LINE_BYTES = 128 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* The first backtrace of a process loads a library, which allocates. */
__attribute__((constructor)) static void load_backtrace(void) {
  void *frame[1];
  (void)backtrace(frame, 1);
}

static void check(const char *function, size_t size) {
  if (!atomic_load_explicit(&run_is_steady, memory_order_relaxed)) return;
  atomic_store(&run_is_steady, false);
  char line[LINE_BYTES];
  int length = snprintf(line, sizeof line, "alloc_guard: %s of %zu bytes after the first step\n",
                        function, size);
  ssize_t ignored = write(STDERR_FILENO, line, (size_t)length);
  (void)ignored;
  void *frame[FRAMES_MAX];
  backtrace_symbols_fd(frame, backtrace(frame, FRAMES_MAX), STDERR_FILENO);
  abort();
}

void *malloc(size_t size) {
  check("malloc", size);
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  check("calloc", count * size);
  return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
  check("realloc", size);
  return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
  check("memalign", size);
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  check("aligned_alloc", size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
  check("posix_memalign", size);
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}

void *mmap(void *at, size_t size, int protection, int flags, int descriptor, off_t offset) {
  check("mmap", size);
  return (void *)syscall(SYS_mmap, at, size, protection, flags, descriptor, offset);
}

#endif
