/* read.h -- a file that describes a machine or a network, whatever its kind, into the one
 * description of each.
 *
 * Files come from anywhere, so nothing in them is trusted: their size, depth and counts are
 * limited, XML has no entities and reaches no network, and what cannot be right is refused with its
 * line. Mistakes are reported on the Compile (topology-...). */
#ifndef LOCKSTEP_TOPOLOGY_READ_H
#define LOCKSTEP_TOPOLOGY_READ_H

#include "compiler/machine/topology/node.h"
#include "compiler/machine/topology/switches.h"

typedef struct Topology {
  const char *path;
  HostNode *node;        /* of hwloc and NCCL files, else NULL */
  SwitchesList networks; /* of Slurm files: topology.yaml may hold several */
} Topology;

/* hwloc XML 1 and 2, NCCL and RCCL topology XML, Slurm topology.conf and topology.yaml. */
bool topology_read(Compile *c, const char *path, Topology *topology);

/* The same for bytes in memory; `path` names them in diagnostics and decides between conf and yaml.
 */
bool topology_read_bytes(Compile *c, const char *path, const char *bytes, size_t size_bytes,
                         Topology *topology);

/* This machine, as hwloc finds it. */
HostNode *topology_of_this_machine(Compile *c);

/* This machine as hwloc XML, in the arena; NULL: reported. */
const char *topology_gather(Compile *c);

/* The variable that makes hwloc describe another machine than this one
 * ("HWLOC_XMLFILE=h100.xml"), or NULL. It is honoured; callers tell the user so. */
const char *topology_environment(Arena *arena);

/* hwloc takes no notice of a setting that it cannot use. False: so it is, reported. */
bool topology_environment_works(Compile *c);

#endif
