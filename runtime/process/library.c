#include "runtime/process/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { WHY_BYTES = 320 };

/* True if the library itself is absent: dlerror then names it, and not a library that it needs. */
static bool is_absence(const char *why, const char *place) {
  static const char absent[] = ": cannot open shared object file";
  size_t length = strlen(place);
  return strncmp(why, place, length) == 0 && strncmp(why + length, absent, sizeof absent - 1) == 0;
}

/* NULL: `why` is of the first place where one is that cannot be loaded, or of the last place. */
static void *open_first(const Library *library, char why[WHY_BYTES]) {
  bool is_known = false;
  for (size_t i = 0; i < library->place_count; i++) {
    void *object = dlopen(library->places[i], RTLD_NOW | RTLD_LOCAL);
    if (object != NULL) return object;
    if (is_known) continue;
    (void)snprintf(why, WHY_BYTES, "%s", dlerror());
    is_known = !is_absence(why, library->places[i]);
  }
  return NULL;
}

bool library_load(const Library *library, Status *status) {
  char why[WHY_BYTES] = "";
  void *object = open_first(library, why);
  if (object == NULL)
    return status_fail(status, STATUS_USER, "%s cannot be loaded (%s): %s", library->name, why,
                       library->missing);
  for (size_t i = 0; i < library->call_count; i++) {
    void *call = dlsym(object, library->calls[i].name);
    if (call == NULL)
      return status_fail(status, STATUS_USER, "this %s has no %s: %s", library->name,
                         library->calls[i].name, library->older);
    *(void **)library->calls[i].to = call;
  }
  for (size_t i = 0; i < library->more_count; i++)
    *(void **)library->more[i].to = dlsym(object, library->more[i].name);
  return true;
}
