/* library.h -- a library that is loaded when a job needs it, as a table of its calls. */
#ifndef LOCKSTEP_LIBRARY_H
#define LOCKSTEP_LIBRARY_H

#include <stddef.h>

#include "runtime/process/status.h"

typedef struct LibraryCall {
  const char *name;
  void *to; /* a function pointer of the table */
} LibraryCall;

typedef struct Library {
  const char *name; /* in messages */
  const char *const *places;
  size_t place_count; /* tried in order, each a name for dlopen */
  const LibraryCall *calls;
  size_t call_count;
  const LibraryCall *more; /* calls that older versions lack: NULL in the table then */
  size_t more_count;
  const char *missing; /* advice if the library is not found */
  const char *older;   /* advice if the library lacks a call */
} Library;

/* Fills the table. The library stays loaded. */
bool library_load(const Library *library, Status *status);

#endif
