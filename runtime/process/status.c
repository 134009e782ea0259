/* status.c -- one line of text for a failure. */
#include "runtime/process/status.h"

#include <stdarg.h>
#include <stdio.h>

bool status_fail(Status *status, int32_t code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  status->code = code;
  (void)vsnprintf(status->text, sizeof status->text, format, list);
  va_end(list);
  return false;
}
