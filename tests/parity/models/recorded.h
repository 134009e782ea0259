/* recorded.h -- a file that record.py wrote: named arrays of f32. */
#ifndef LOCKSTEP_TESTS_RECORDED_H
#define LOCKSTEP_TESTS_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

enum { RECORDED_ENTRIES_MAX = 256, RECORDED_NAME_BYTES = 88 };

typedef struct RecordedEntry {
  char name[RECORDED_NAME_BYTES];
  int64_t count;
  const float *values;
} RecordedEntry;

typedef struct Recorded {
  char *bytes;
  RecordedEntry entry[RECORDED_ENTRIES_MAX];
  int32_t count;
} Recorded;

/* Reads models/NAME.bin. False when it cannot, which it says. */
bool recorded_open(Recorded *recorded, const char *name);
void recorded_close(Recorded *recorded);

/* The entry of the name printed by the format; one that is missing ends the program. */
const RecordedEntry *recorded_find(const Recorded *recorded, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
