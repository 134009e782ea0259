/* stack.c -- see stack.h. The system looks at the limit when a stack grows, so raising it takes
 * effect at once; a hard limit cannot be raised. */
#include "runtime/process/stack.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

static const rlim_t main_bytes = 8u << 20, main_least_bytes = 1u << 20;

/* glibc gives threads the limit as their stack, and 2 MiB where there is no limit. Limits of many
 * gigabytes would use up the address space of machines with many cores. */
static const size_t thread_least_bytes = 2u << 20, thread_most_bytes = 64u << 20;

static void bound_threads(void) {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0) {
    if (bytes < thread_least_bytes) bytes = thread_least_bytes;
    if (bytes > thread_most_bytes) bytes = thread_most_bytes;
    if (pthread_attr_setstacksize(&attributes, bytes) == 0)
      (void)pthread_setattr_default_np(&attributes);
  }
  (void)pthread_attr_destroy(&attributes);
}

bool stack_prepare(char why[STACK_WHY_BYTES]) {
  struct rlimit limit;
  bound_threads();
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= main_bytes) return true;
  limit.rlim_cur = limit.rlim_max < main_bytes ? limit.rlim_max : main_bytes;
  (void)setrlimit(RLIMIT_STACK, &limit);
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= main_least_bytes) return true;
  (void)snprintf(
      why, STACK_WHY_BYTES,
      "the stack is limited to %llu kB, and 1024 kB are needed: start it from a shell whose "
      "hard limit (ulimit -Hs) is 8192 or more",
      (unsigned long long)limit.rlim_cur >> 10);
  return false;
}
