#include "compiler/machine/topology/here.h"

#include <hwloc.h>
#include <unistd.h>

#include "runtime/process/cgroup.h"

/* Cores of this machine that the process may run on: hwloc leaves out those outside its cpuset, and
 * a binding (taskset, srun) takes some of the others. */
static int32_t count_cores(hwloc_topology_t topology) {
  int32_t all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), bound = 0;
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  if (set && hwloc_topology_is_thissystem(topology) &&
      hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0)
    for (int32_t i = 0; i < all; i++)
      bound += hwloc_bitmap_intersects(
          hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)i)->cpuset, set);
  hwloc_bitmap_free(set);
  return bound > 0 ? bound : all;
}

Machine topology_here(void) {
  Machine machine = {.memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
                     .cores = sysconf(_SC_NPROCESSORS_ONLN)};
  uint64_t limit = cgroup_memory("").limit_bytes;
  if (limit < (uint64_t)machine.memory_bytes) machine.memory_bytes = (int64_t)limit;
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return machine;
  if (hwloc_topology_load(topology) == 0) {
    int32_t cores = count_cores(topology);
    if (cores > 0) machine.cores = cores;
    if (hwloc_topology_is_thissystem(topology))
      machine.cores = cgroup_processors("", (int32_t)machine.cores);
  }
  hwloc_topology_destroy(topology);
  return machine;
}
