/* fabric.h -- the cluster as ranks see it: nodes in a row with a seat for each rank, and what joins
 * nodes.
 *
 * Rates are bytes a second of one direction that a large message gets; 0 is unknown. Slots are
 * seats counted through all nodes: nodes that share a switch stand next to each other. */
#ifndef LOCKSTEP_FABRIC_H
#define LOCKSTEP_FABRIC_H

#include "compiler/spec/job.h"
#include "compiler/topology/node.h"

enum { SEATS_MOST = 1024, LEVELS_MOST = 16, RAIL_WORDS = NICS_MOST / 64 };

/* What one rank of a node has, as the node's description says. */
typedef struct Seat {
  int32_t device;                /* as the driver counts */
  int32_t numa;                  /* as the operating system counts; -1: unknown */
  const char *pci, *nic, *cores; /* NULL: not described */
  LinkClass nic_class;
  uint64_t rails[RAIL_WORDS]; /* NICs that it has a share of, a bit for each of the node */
  double network_bytes_per_s; /* its share of them */
} Seat;

/* A path between two seats. */
typedef struct SeatPair {
  double bytes_per_s;
  LinkClass link_class;
  bool is_direct; /* over links of the two alone: what several of them carry adds up */
} SeatPair;

/* Nodes that are alike. */
typedef struct NodeKind {
  const char *name;
  int32_t seat_count;
  const HostNode *host;       /* NULL: only numbers are known, and all seats are alike */
  double intra_bytes_per_s;   /* of all pairs; 0 where `pairs` says it */
  double network_bytes_per_s; /* of each seat without description */
  const Seat *seats;          /* NULL: not described */
  const SeatPair *pairs;      /* seats x seats; NULL: all alike */
} NodeKind;

/* Switches of one height, or NVLink domains of several nodes; the lowest level comes first. */
typedef struct Level {
  const char *name;    /* "block", "leaf switch" */
  const int32_t *unit; /* of each node; NULL: every `unit_nodes` nodes are one */
  int64_t unit_nodes;
  double bytes_per_s; /* of each rank inside a unit, in place of its NIC; 0: the NIC is used */
  double taper;       /* what crosses units gets so much less; 1: nothing is lost */
} Level;

/* Nodes of one kind that stand next to each other. */
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
  bool is_fast; /* nodes have links that are faster than the network, as far as is known */
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
