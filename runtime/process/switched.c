#include "runtime/process/switched.h"

#include <stdlib.h>
#include <string.h>

bool switched_off(const char *name) {
  const char *value = getenv(name);
  return value != NULL && strcmp(value, "0") == 0;
}

bool switched_on(const char *name) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0' && strcmp(value, "0") != 0;
}
