/* plural.h -- the endings of nouns after numbers: ("%d step%s", n, plural(n)). */
#ifndef LOCKSTEP_PROCESS_PLURAL_H
#define LOCKSTEP_PROCESS_PLURAL_H

#include <stdint.h>

static inline const char *plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

/* "batch" and "batches". */
static inline const char *plural_es(uint64_t count) {
  return count == 1 ? "" : "es";
}

static inline const char *plural_is(uint64_t count) {
  return count == 1 ? "is" : "are";
}

#endif
