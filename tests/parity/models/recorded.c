#include "tests/parity/models/recorded.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "LSMODEL1";

static char *read_file(const char *path, size_t *size_bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *size_bytes = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size_bytes);
  size_t got = bytes ? fread(bytes, 1, *size_bytes, file) : 0;
  fclose(file);
  if (got == *size_bytes) return bytes;
  free(bytes);
  return NULL;
}

bool recorded_open(Recorded *recorded, const char *name) {
  char path[512];
  size_t size_bytes = 0, at = sizeof magic - 1;
  *recorded = (Recorded){0};
  (void)snprintf(path, sizeof path, "%s/models/%s.bin", PARITY_FOLDER, name);
  recorded->bytes = read_file(path, &size_bytes);
  bool good = recorded->bytes && size_bytes > at && memcmp(recorded->bytes, magic, at) == 0;
  while (good && at < size_bytes && recorded->count < RECORDED_ENTRIES_MAX) {
    RecordedEntry *entry = &recorded->entry[recorded->count++];
    memcpy(entry->name, recorded->bytes + at, RECORDED_NAME_BYTES);
    memcpy(&entry->count, recorded->bytes + at + RECORDED_NAME_BYTES, sizeof entry->count);
    at += RECORDED_NAME_BYTES + sizeof entry->count;
    entry->values = (const float *)(const void *)(recorded->bytes + at); /* all sizes are 4n */
    at += (size_t)entry->count * sizeof(float);
  }
  good = good && at == size_bytes;
  if (!good) printf("%s: cannot be read\n", path);
  return good;
}

void recorded_close(Recorded *recorded) {
  free(recorded->bytes);
  *recorded = (Recorded){0};
}

const RecordedEntry *recorded_find(const Recorded *recorded, const char *format, ...) {
  char name[RECORDED_NAME_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  for (int32_t i = 0; i < recorded->count; i++)
    if (strcmp(recorded->entry[i].name, name) == 0) return &recorded->entry[i];
  printf("nothing is recorded as %s\n", name);
  exit(1);
}
