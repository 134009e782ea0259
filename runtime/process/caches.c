/* caches.c -- /sys/devices/system/cpu/cpuN/cache/indexK describes cache K of processor N. */
#include "runtime/process/caches.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { CACHES_MOST = 8, PROCESSORS_MOST = 1 << 14, TEXT_BYTES = 64 };

static bool read_text(const char *root, int32_t processor, int32_t cache, const char *name,
                      char text[TEXT_BYTES]) {
  char path[512];
  (void)snprintf(path, sizeof path, "%.255s/sys/devices/system/cpu/cpu%d/cache/index%d/%s", root,
                 (int)processor, (int)cache, name);
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  const bool is_read = fgets(text, TEXT_BYTES, file) != NULL;
  (void)fclose(file);
  return is_read;
}

/* "32768K" */
static int64_t size_of(const char *text) {
  char *unit;
  const long long size = strtoll(text, &unit, 10);
  if (size <= 0 || size > 1 << 30) return 0;
  return size << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0);
}

/* The last cache of a processor; counted by the first of the processors that share it, else 0. */
static int64_t last_cache_bytes(const char *root, int32_t processor) {
  char text[TEXT_BYTES];
  int32_t last = -1;
  while (last + 1 < CACHES_MOST && read_text(root, processor, last + 1, "level", text))
    last++;
  if (last < 0 || !read_text(root, processor, last, "shared_cpu_list", text) ||
      strtol(text, NULL, 10) != processor || !read_text(root, processor, last, "size", text))
    return 0;
  return size_of(text);
}

int64_t caches_bytes(const char *root) {
  int64_t sum = 0;
  char text[TEXT_BYTES];
  for (int32_t i = 0; i < PROCESSORS_MOST; i++) {
    if (!read_text(root, i, 0, "level", text)) break;
    sum += last_cache_bytes(root, i);
  }
  return sum;
}
