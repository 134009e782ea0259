#include "kernels/threads/bind.h"

#include <hwloc.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static hwloc_topology_t machine; /* NULL: hwloc cannot read this machine */

/* The environment may show hwloc a file, or another machine: threads are bound on this one. Only
 * processors and memory are asked for, so that this is a matter of a millisecond. */
static void open_machine(void) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return;
  const unsigned long never = HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST;
  bool good = hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
              hwloc_topology_set_components(topology, never, "xml") == 0 &&
              hwloc_topology_set_components(topology, never, "synthetic") == 0 &&
              hwloc_topology_load(topology) == 0;
  if (good)
    machine = topology;
  else
    hwloc_topology_destroy(topology);
}

static hwloc_topology_t this_machine(void) {
  (void)pthread_once(&once, open_machine);
  return machine;
}

/* NULL: there is no such processor, or it is not ours. Freed by the caller. */
static hwloc_bitmap_t set_of(hwloc_topology_t topology, const int32_t *core, int32_t count) {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  for (int32_t i = 0; i < count && set != NULL; i++)
    (void)hwloc_bitmap_set(set, (unsigned)core[i]);
  if (set != NULL && hwloc_bitmap_isincluded(set, hwloc_topology_get_allowed_cpuset(topology)) == 1)
    return set;
  hwloc_bitmap_free(set);
  return NULL;
}

bool bind_thread(pthread_t thread, int32_t core) {
  hwloc_topology_t topology = this_machine();
  hwloc_bitmap_t set = topology == NULL ? NULL : set_of(topology, &core, 1);
  if (set == NULL) return false;
  bool bound = hwloc_set_thread_cpubind(topology, thread, set, HWLOC_CPUBIND_STRICT) == 0;
  hwloc_bitmap_free(set);
  return bound;
}

bool bind_memory(const int32_t *core, int32_t count) {
  hwloc_topology_t topology = this_machine();
  hwloc_bitmap_t set = topology == NULL ? NULL : set_of(topology, core, count);
  if (set == NULL) return false;
  bool bound = hwloc_set_membind(topology, set, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_THREAD) == 0;
  hwloc_bitmap_free(set);
  return bound;
}
