/* cgroup.c -- /proc/self/cgroup names the groups; each level above a group may have its own limit.
 */
#include "runtime/process/cgroup.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, TEXT_BYTES = 1 << 14 };

/* ---- the groups of this process */

/* One controller's tree of groups. Version 2 has one tree for all controllers, which its lines do
 * not name. */
typedef struct Hierarchy {
  const char *controller; /* "": version 2 */
  const char *mount;
  void (*read)(const char *folder, void *into); /* the limits of one level */
} Hierarchy;

/* Goes from the group up to the mount. In a container the group may have the host's name: then only
 * the mount itself exists, which is the container's own. */
static void read_levels(const char *root, const Hierarchy *h, const char *group, void *into) {
  char folder[PATH_BYTES + 512];
  size_t mount = (size_t)snprintf(folder, sizeof folder, "%.255s%s", root, h->mount);
  (void)snprintf(folder + mount, sizeof folder - mount, "%.*s", PATH_BYTES,
                 *group == '/' ? group : "");
  for (;;) {
    size_t length = strlen(folder);
    while (length > mount && folder[length - 1] == '/')
      folder[--length] = 0;
    h->read(folder, into);
    if (length <= mount) return;
    *strrchr(folder, '/') = 0;
  }
}

/* `controllers` is a list with commas. */
static bool names(const char *controllers, const char *controller) {
  size_t width = strlen(controller);
  for (const char *at = controllers; *at; at += *at == ',') {
    size_t length = strcspn(at, ",");
    if (length == width && memcmp(at, controller, width) == 0) return true;
    at += length;
  }
  return width == 0 && *controllers == 0;
}

/* Allocates nothing, because a run looks at its groups between steps. */
static bool read_text(const char *path, char *text, size_t room) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  size_t used = 0;
  ssize_t got;
  while (used + 1 < room && (got = read(descriptor, text + used, room - 1 - used)) > 0)
    used += (size_t)got;
  (void)close(descriptor);
  text[used] = 0;
  return used > 0;
}

/* Ends the line and returns the next one, NULL after the last. */
static char *cut_line(char *line) {
  char *end = strchr(line, '\n');
  if (end == NULL) return NULL;
  *end = 0;
  return end[1] ? end + 1 : NULL;
}

/* A line is "number:controllers:/group"; version 2 has number 0 and no controllers. */
static void read_groups(const char *root, const Hierarchy *list, size_t count, void *into) {
  char path[512], text[TEXT_BYTES], *next;
  (void)snprintf(path, sizeof path, "%.255s/proc/self/cgroup", root);
  if (!read_text(path, text, sizeof text)) return;
  for (char *line = text; line != NULL; line = next) {
    next = cut_line(line);
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group) continue;
    *group++ = 0;
    for (size_t i = 0; i < count; i++)
      if (names(controllers, list[i].controller)) read_levels(root, &list[i], group, into);
  }
}

/* The first line of a file that begins with `prefix`, without it. */
static bool read_line(const char *folder, const char *name, const char *prefix, char *out,
                      size_t room) {
  char path[2 * PATH_BYTES], text[TEXT_BYTES], *next;
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!read_text(path, text, sizeof text)) return false;
  for (char *line = text; line != NULL; line = next) {
    next = cut_line(line);
    if (strncmp(line, prefix, strlen(prefix)) != 0) continue;
    (void)snprintf(out, room, "%s", line + strlen(prefix));
    return true;
  }
  return false;
}

/* False: not a number, such as "max". */
static bool read_number(const char *folder, const char *name, const char *prefix,
                        uint64_t *number) {
  char line[128], *end;
  if (!read_line(folder, name, prefix, line, sizeof line)) return false;
  *number = strtoull(line, &end, 10);
  return end != line;
}

/* ---- memory */

/* Version 1 gives a very large number for "no limit". */
static const uint64_t no_limit_bytes = (uint64_t)1 << 62;

/* A version of control groups has its own names for the same values. */
typedef struct MemoryNames {
  const char *limit, *used;
  const char *cache; /* of memory.stat: the part of `used` that the system can free at once */
} MemoryNames;

static void read_memory(const MemoryNames *version, const char *folder, CgroupMemory *memory) {
  uint64_t limit = 0, used = 0, cache = 0;
  if (!read_number(folder, version->limit, "", &limit) || limit >= no_limit_bytes) return;
  if (!read_number(folder, version->used, "", &used)) used = 0;
  if (!read_number(folder, "memory.stat", version->cache, &cache) || cache > used) cache = 0;
  used -= cache;
  uint64_t available = used < limit ? limit - used : 0;
  if (limit < memory->limit_bytes) memory->limit_bytes = limit;
  if (available < memory->available_bytes) memory->available_bytes = available;
}

static void read_memory_1(const char *folder, void *into) {
  static const MemoryNames version_1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                        "total_inactive_file "};
  read_memory(&version_1, folder, into);
}

static void read_memory_2(const char *folder, void *into) {
  static const MemoryNames version_2 = {"memory.max", "memory.current", "inactive_file "};
  read_memory(&version_2, folder, into);
}

CgroupMemory cgroup_memory(const char *root) {
  static const Hierarchy hierarchies[] = {{"memory", "/sys/fs/cgroup/memory", read_memory_1},
                                          {"", "/sys/fs/cgroup", read_memory_2}};
  CgroupMemory memory = {UINT64_MAX, UINT64_MAX};
  read_groups(root, hierarchies, sizeof hierarchies / sizeof *hierarchies, &memory);
  return memory;
}

/* ---- processors */

static void take_quota(double quota_us, double period_us, CgroupCpus *cpus) {
  if (!(quota_us > 0 && period_us > 0)) return; /* version 1: -1 is no quota */
  if (quota_us / period_us < cpus->quota) cpus->quota = quota_us / period_us;
}

/* The nearest level with a set: those above have at least as many processors. */
static void take_set(const char *folder, const char *name, CgroupCpus *cpus) {
  if (*cpus->set == 0 && !read_line(folder, name, "", cpus->set, sizeof cpus->set)) *cpus->set = 0;
}

static void read_quota_1(const char *folder, void *into) {
  char quota[64], period[64];
  if (read_line(folder, "cpu.cfs_quota_us", "", quota, sizeof quota) &&
      read_line(folder, "cpu.cfs_period_us", "", period, sizeof period))
    take_quota(strtod(quota, NULL), strtod(period, NULL), into);
}

static void read_set_1(const char *folder, void *into) {
  take_set(folder, "cpuset.effective_cpus", into);
  take_set(folder, "cpuset.cpus", into);
}

/* cpu.max is "200000 100000", or "max 100000". */
static void read_cpus_2(const char *folder, void *into) {
  char line[64], *end;
  if (read_line(folder, "cpu.max", "", line, sizeof line)) {
    double quota_us = strtod(line, &end);
    if (end != line) take_quota(quota_us, strtod(end, NULL), into);
  }
  take_set(folder, "cpuset.cpus.effective", into);
}

CgroupCpus cgroup_cpus(const char *root) {
  static const Hierarchy hierarchies[] = {
      {"cpu", "/sys/fs/cgroup/cpu", read_quota_1},
      {"cpu", "/sys/fs/cgroup/cpu,cpuacct", read_quota_1}, /* where there is no link to it */
      {"cpuset", "/sys/fs/cgroup/cpuset", read_set_1},
      {"", "/sys/fs/cgroup", read_cpus_2}};
  CgroupCpus cpus = {.quota = INFINITY};
  read_groups(root, hierarchies, sizeof hierarchies / sizeof *hierarchies, &cpus);
  return cpus;
}

int32_t cgroup_processors(const char *root, int32_t allowed) {
  double quota = floor(cgroup_cpus(root).quota);
  if (allowed <= 1 || quota >= allowed) return allowed;
  return quota < 1 ? 1 : (int32_t)quota;
}

int32_t processors_here(void) {
  cpu_set_t set;
  bool is_known = sched_getaffinity(0, sizeof set, &set) == 0; /* not of more than 1,024 */
  return cgroup_processors("", is_known ? CPU_COUNT(&set) : (int32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static const char *quota_text(double quota, char text[32]) {
  (void)snprintf(text, 32, isinf(quota) ? "none" : "%.4g", quota);
  return text;
}

bool cgroup_cpus_changed(const CgroupCpus *before, const CgroupCpus *now,
                         char text[CGROUP_CHANGE_BYTES]) {
  char a[32], b[32];
  bool has_quota = now->quota < before->quota || now->quota > before->quota;
  bool has_set = strcmp(before->set, now->set) != 0;
  int used = 0;
  *text = 0;
  if (has_set)
    used = snprintf(text, CGROUP_CHANGE_BYTES, "set of processors %.*s, was %.*s", CGROUP_SHOWN,
                    *now->set ? now->set : "unknown", CGROUP_SHOWN,
                    *before->set ? before->set : "unknown");
  if (has_quota)
    (void)snprintf(text + used, CGROUP_CHANGE_BYTES - (size_t)used,
                   "%squota of processors %s, was %s", has_set ? "; " : "",
                   quota_text(now->quota, a), quota_text(before->quota, b));
  return has_quota || has_set;
}
