/* describe.h -- parts of a fabric from the files that describe them. Private to the room. */
#ifndef LOCKSTEP_DESCRIBE_H
#define LOCKSTEP_DESCRIBE_H

#include "compiler/machine/place/fabric.h"

/* A type of nodes, with the files that it names. False: reported. */
bool describe_kind(Compile *c, const Cluster *cluster, const ClusterType *type, NodeKind *kind);

/* Seats on the GPUs of a node, the first ones where the kind has fewer; `cores`: a description of
 * the same node with cores. Returns the kind's seats. */
Seat *describe_seats(Compile *c, const HostNode *host, const HostNode *cores, NodeKind *kind);

/* Adds the nodes, their order, and the levels of the network. Kinds must exist. False: reported. */
bool describe_network(Compile *c, const Cluster *cluster, Fabric *fabric);

#endif
