/* hwloc_node.h -- converts a loaded hwloc topology to a HostNode. Private to this room. */
#ifndef LOCKSTEP_HWLOC_NODE_H
#define LOCKSTEP_HWLOC_NODE_H

#include <hwloc.h>

#include "compiler/machine/topology/node.h"

/* Fills in all but `source`; the caller calls node_finish. False: reported. */
bool node_of_hwloc(Compile *c, Span span, hwloc_topology_t topology, HostNode *node);

#endif
