/* hwloc_node.h -- a loaded hwloc topology into a HostNode. Of this room only. */
#ifndef LOCKSTEP_HWLOC_NODE_H
#define LOCKSTEP_HWLOC_NODE_H

#include <hwloc.h>

#include "compiler/topology/node.h"

/* Fills all but `source`; node_finish is the caller's. False: reported. */
bool node_of_hwloc(Compile *c, Span span, hwloc_topology_t topology, HostNode *node);

#endif
