#include "tests/gpu/common/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/common/probe.h"

static char *read_all(FILE *file) {
  if (fseek(file, 0, SEEK_END) != 0) return NULL;
  long size_bytes = ftell(file);
  if (size_bytes < 0 || fseek(file, 0, SEEK_SET) != 0) return NULL;
  char *text = calloc(1, (size_t)size_bytes + 1);
  if (!text) return NULL;
  if (fread(text, 1, (size_t)size_bytes, file) == (size_t)size_bytes) return text;
  free(text);
  return NULL;
}

char *text_file_read(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = file ? read_all(file) : NULL;
  if (!text) probe_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
  if (file) fclose(file);
  return text;
}

bool text_file_write(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  if (!file) FAIL("%s: %s", path, strerror(errno));
  bool ok = fputs(text, file) >= 0;
  if (fclose(file) != 0) ok = false;
  if (!ok) FAIL("%s: %s", path, strerror(errno));
  return true;
}
