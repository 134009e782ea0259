#include "compiler/topology/here.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The limit a container or a Slurm step sets; 0: none. */
static int64_t cgroup_limit_bytes(void) {
  static const char *const files[] = {"/sys/fs/cgroup/memory.max",
                                      "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    FILE *file = fopen(files[i], "r");
    if (!file) continue;
    char text[64] = "";
    bool is_read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    long long limit = is_read ? strtoll(text, NULL, 10) : 0; /* 0: the word "max" */
    if (limit > 0) return limit;
  }
  return 0;
}

Machine topology_here(void) {
  Machine machine = {.memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
                     .cores = sysconf(_SC_NPROCESSORS_ONLN)};
  int64_t limit = cgroup_limit_bytes();
  if (limit > 0 && limit < machine.memory_bytes) machine.memory_bytes = limit;
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return machine;
  if (hwloc_topology_load(topology) == 0) {
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    if (cores > 0) machine.cores = cores;
  }
  hwloc_topology_destroy(topology);
  return machine;
}
