#include "runtime/library.h"

#include <dlfcn.h>

bool library_load(const Library *library, Status *status) {
  void *object = NULL;
  for (size_t i = 0; i < library->place_count && object == NULL; i++)
    object = dlopen(library->places[i], RTLD_NOW | RTLD_LOCAL);
  if (object == NULL)
    return status_fail(status, STATUS_USER, "%s cannot be loaded (%s): %s", library->name,
                       dlerror(), library->missing);
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
