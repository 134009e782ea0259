/* picture.h -- a machine on a screen, as JSON, as SVG; two machines compared. */
#ifndef LOCKSTEP_TOPOLOGY_PICTURE_H
#define LOCKSTEP_TOPOLOGY_PICTURE_H

#include "compiler/machine/topology/node.h"

/* Packages, NUMA nodes, devices below their PCIe switches, links, rails, the matrix of link
 * classes, warnings. At most 80 columns. */
void node_print(Arena *arena, const HostNode *node, FILE *out);
void node_matrix(const HostNode *node, FILE *out);

/* The same as one JSON object, without a line break after it. */
void node_json(Arena *arena, const HostNode *node, FILE *out);
void node_svg(Arena *arena, const HostNode *node, FILE *out);

/* The differences between this machine and a description, one line each. Addresses and names may
 * differ if the devices are the same. */
typedef struct Differences {
  VEC(const char *) list;
} Differences;
Differences node_compare(Arena *arena, const HostNode *wanted, const HostNode *found);

/* True if its links go to NVSwitches. */
bool gpu_is_switched(const HostNode *node, int32_t gpu);

/* "GPU3", "NIC0", "0000:15:00.0": in the arena. */
const char *device_label(Arena *arena, const Device *device);

/* "0000:1b:00.0": without the domain, where all devices are in domain 0. */
const char *device_address(const HostNode *node, const Device *device);

#endif
