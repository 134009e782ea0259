/* fabric.h -- the cluster as ranks see it: nodes in a row with a seat for each rank, and the
 * network between nodes.
 *
 * Rates are bytes a second of one direction that a large message gets; 0 is unknown. Slots are
 * seats numbered through all nodes; nodes that share a switch are adjacent. */
#ifndef LOCKSTEP_FABRIC_H
#define LOCKSTEP_FABRIC_H

#include "compiler/job/job.h"
#include "compiler/machine/topology/node.h"

enum { SEATS_MOST = 1024, LEVELS_MOST = 16, RAIL_WORDS = NICS_MOST / 64 };

/* The hardware of one rank on a node, from the node's description. */
typedef struct Seat {
  int32_t device;                /* as the driver counts */
  int32_t numa;                  /* as the operating system counts; -1: unknown */
  const char *pci, *nic, *cores; /* NULL: not described */
  LinkClass nic_class;
  uint64_t rails[RAIL_WORDS]; /* NICs that it has a share of, a bit for each of the node */
  double network_bytes_per_s; /* the seat's share of the node's NICs */
} Seat;

/* A path between two seats. */
typedef struct SeatPair {
  double bytes_per_s;
  LinkClass link_class;
  bool is_direct; /* over links of these two only: the rates of several paths add up */
} SeatPair;

/* A kind of nodes that are alike. */
typedef struct NodeKind {
  const char *name;
  int32_t seat_count;
  const HostNode *host;       /* NULL: only numbers are known, and all seats are alike */
  double intra_bytes_per_s;   /* of all pairs; 0: see `pairs` */
  double network_bytes_per_s; /* of each seat without description */
  /* the share of its PCIe link that a seat gets when all devices copy to the host */
  double link_share;
  const Seat *seats;     /* NULL: not described */
  const SeatPair *pairs; /* seats x seats; NULL: all alike */
} NodeKind;

/* Switches of one height, or NVLink domains of several nodes; the lowest level comes first. */
typedef struct Level {
  const char *name;    /* "block", "leaf switch" */
  const int32_t *unit; /* of each node; NULL: every `unit_nodes` nodes are one */
  int64_t unit_nodes;
  double bytes_per_s; /* of each rank inside a unit, in place of its NIC; 0: the NIC is used */
  double taper;       /* the factor by which the rate between units is reduced; 1: not reduced */
} Level;

/* Adjacent nodes of one kind. */
typedef struct NodeRun {
  int64_t node_first, slot_first;
  int32_t kind;
} NodeRun;

typedef struct Fabric {
  Arena *arena;
  int64_t node_count, slot_count;
  const NodeKind *kinds;
  struct RateMemo **memos; /* by kind; NULL: nothing is remembered */
  int32_t kind_count, level_count;
  int32_t run_count;
  const NodeRun *runs;      /* in order */
  const char *const *hosts; /* of each node; NULL: not named */
  Level levels[LEVELS_MOST];
  int64_t intra_latency_ns, inter_latency_ns; /* of a message; 0: unknown */
  bool is_fast; /* nodes have links that are known to be faster than the network */
} Fabric;

/* Reads the files that `cluster` names, and fills its counts: nodes, devices, ranks. NULL:
 * reported. */
const Fabric *fabric_make(Compile *c, Cluster *cluster);

int64_t fabric_node_of_slot(const Fabric *fabric, int64_t slot);
int64_t fabric_first_slot(const Fabric *fabric, int64_t node);
int32_t fabric_kind_of(const Fabric *fabric, int64_t node);

int32_t rail_count(const uint64_t rails[RAIL_WORDS]);

/* 0: the same node; 1: nodes of one unit of the lowest level; 1 + n: of one unit of level n. */
int32_t fabric_distance(const Fabric *fabric, int64_t node, int64_t other);

#endif
