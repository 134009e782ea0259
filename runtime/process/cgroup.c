/* cgroup.c -- /proc/self/cgroup names the group; each level above it may have a limit of its own.
 */
#include "runtime/process/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, LINE_BYTES = PATH_BYTES + 256 };

/* Version 1 gives a very large number for "no limit". */
static const uint64_t no_limit_bytes = (uint64_t)1 << 62;

/* A version of control groups, with its names for the same values. */
typedef struct Version {
  const char *mount;
  const char *limit;
  const char *used;
  const char
      *cache; /* a line of memory.stat: the part of `used` that the system can free at once */
} Version;

static const Version version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                  "memory.usage_in_bytes", "total_inactive_file "};
static const Version version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                  "inactive_file "};

/* The number after `prefix` at the start of a line. False: not a number, such as "max". */
static bool read_number(const char *folder, const char *name, const char *prefix,
                        uint64_t *number) {
  char path[2 * PATH_BYTES], line[128], *end = line;
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  size_t length = strlen(prefix);
  bool found = false;
  while (!found && fgets(line, sizeof line, file)) {
    if (strncmp(line, prefix, length) != 0) continue;
    *number = strtoull(line + length, &end, 10);
    found = end != line + length;
  }
  (void)fclose(file);
  return found;
}

static void read_level(const Version *version, const char *folder, CgroupMemory *memory) {
  uint64_t limit = 0, used = 0, cache = 0;
  if (!read_number(folder, version->limit, "", &limit) || limit >= no_limit_bytes) return;
  if (!read_number(folder, version->used, "", &used)) used = 0;
  if (!read_number(folder, "memory.stat", version->cache, &cache) || cache > used) cache = 0;
  used -= cache;
  uint64_t available = used < limit ? limit - used : 0;
  if (limit < memory->limit_bytes) memory->limit_bytes = limit;
  if (available < memory->available_bytes) memory->available_bytes = available;
}

/* Goes from the group up to the mount. In a container the group may have the host's name: then only
 * the mount itself exists, which is the container's own. */
static void read_levels(const char *root, const Version *version, char *group,
                        CgroupMemory *memory) {
  char folder[PATH_BYTES + 512];
  for (;;) {
    size_t length = strlen(group);
    while (length > 0 && group[length - 1] == '/')
      group[--length] = 0;
    (void)snprintf(folder, sizeof folder, "%.255s%s%.*s", root, version->mount, PATH_BYTES, group);
    read_level(version, folder, memory);
    char *last = strrchr(group, '/');
    if (!last) return;
    *last = 0;
  }
}

static bool names_memory(const char *controllers) {
  for (const char *at = controllers; *at; at += *at == ',') {
    size_t length = strcspn(at, ",");
    if (length == 6 && memcmp(at, "memory", 6) == 0) return true;
    at += length;
  }
  return false;
}

/* A line is "number:controllers:/group"; version 2 has number 0 and no controllers. */
CgroupMemory cgroup_memory(const char *root) {
  CgroupMemory memory = {UINT64_MAX, UINT64_MAX};
  char path[512], line[LINE_BYTES];
  (void)snprintf(path, sizeof path, "%.255s/proc/self/cgroup", root);
  FILE *file = fopen(path, "r");
  if (!file) return memory;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group) continue;
    *group++ = 0;
    if (*controllers == 0)
      read_levels(root, &version_2, group, &memory);
    else if (names_memory(controllers))
      read_levels(root, &version_1, group, &memory);
  }
  (void)fclose(file);
  return memory;
}
