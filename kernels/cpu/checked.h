/* checked.h -- the sanitizers' view of an inner loop: the memory that it is about to read and write
 * is checked as a few ranges before it runs, and not at each access, which took most of the time of
 * the tests. In other builds nothing is checked. */
#ifndef LOCKSTEP_KERNELS_CPU_CHECKED_H
#define LOCKSTEP_KERNELS_CPU_CHECKED_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define CHECKED_BEFORE __attribute__((no_sanitize("address", "undefined")))

/* The access to the first bad byte is what the sanitizer reports. */
static inline void check_read(const void *at, size_t size_bytes) {
  const volatile char *bad = __asan_region_is_poisoned((void *)at, size_bytes);
  if (bad != NULL) (void)*bad;
}
static inline void check_write(void *at, size_t size_bytes) {
  volatile char *bad = __asan_region_is_poisoned(at, size_bytes);
  if (bad != NULL) *bad = 0;
}
#elif defined(__SANITIZE_THREAD__)
#define CHECKED_BEFORE __attribute__((no_sanitize("thread")))
void __tsan_read_range(void *at, long size_bytes);
void __tsan_write_range(void *at, long size_bytes);

static inline void check_read(const void *at, size_t size_bytes) {
  __tsan_read_range((void *)at, (long)size_bytes);
}
static inline void check_write(void *at, size_t size_bytes) {
  __tsan_write_range(at, (long)size_bytes);
}
#else
#define CHECKED_BEFORE
static inline void check_read(const void *at, size_t size_bytes) {
  (void)at, (void)size_bytes;
}
static inline void check_write(void *at, size_t size_bytes) {
  (void)at, (void)size_bytes;
}
#endif

#endif
