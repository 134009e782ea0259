#include "tests/gpu/common/probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char failure[4096];

bool probe_fail(const char *file, int line, const char *format, ...) {
  const char *slash = strrchr(file, '/');
  int used = snprintf(failure, sizeof failure, "%s:%d: ", slash ? slash + 1 : file, line);
  if (used < 0 || (size_t)used >= sizeof failure) used = 0;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(failure + used, sizeof failure - (size_t)used, format, arguments);
  va_end(arguments);
  return false;
}

const char *probe_failure(void) {
  return failure;
}

void probe_clear_failure(void) {
  failure[0] = '\0';
}
