#include "compiler/machine/topology/here.h"

#include <hwloc.h>
#include <unistd.h>

#include "runtime/process/cgroup.h"

Machine topology_here(void) {
  Machine machine = {.memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
                     .cores = sysconf(_SC_NPROCESSORS_ONLN)};
  uint64_t limit = cgroup_memory("").limit_bytes;
  if (limit < (uint64_t)machine.memory_bytes) machine.memory_bytes = (int64_t)limit;
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return machine;
  if (hwloc_topology_load(topology) == 0) {
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    if (cores > 0) machine.cores = cores;
  }
  hwloc_topology_destroy(topology);
  return machine;
}
