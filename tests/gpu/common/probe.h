/* probe.h -- what every probe shares: how it fails, how it ends.
 *
 * A probe is one small program that asks one question of the device and checks the answer.
 * A case that fails names the place and goes on to the next; a probe that cannot start at all says
 * why and exits. The exit status tells `tests/gpu/run` which of the four it was:
 */
#ifndef GPU_PROBE_H
#define GPU_PROBE_H

#include <stdbool.h>

enum {
  PROBE_PASSED = 0,
  PROBE_FAILED = 1,     /* a check failed, or a library call did */
  PROBE_USAGE = 2,      /* wrong arguments */
  PROBE_NO_DEVICE = 77, /* no GPU here: nothing was tested (77 is what ctest reads as "skipped") */
};

/* Keeps "file:line: message" as the reason why the current case failed. Always returns false, so
 * that `return probe_fail(...)` reports and fails in one expression. */
bool probe_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The reason kept last; "" when none. */
const char *probe_failure(void);
void probe_clear_failure(void);

/* In a function that returns bool: leave it with a reason. */
#define FAIL(...) return probe_fail(__FILE__, __LINE__, __VA_ARGS__)

/* Adds one level of "the caller failed because ..." without hiding the first reason. */
#define TRY(call)                                                                                  \
  do {                                                                                             \
    if (!(call)) return false;                                                                     \
  } while (0)

#endif
