/* ring.h -- latency of one pass of a collective over all members of a communicator.
 *
 *   ring    over all members, node after node: nodes - 1 hops between nodes, the others inside
 *   tree    inside each node a chain, between nodes a binary tree with log2(nodes) levels
 *
 * NCCL has trees for sums, and for gathers and scatters where a node has one member (PAT).
 * Source: NCCL, src/graph/tuning.cc, ncclTopoTuneModel. */
#ifndef LOCKSTEP_BASE_RING_H
#define LOCKSTEP_BASE_RING_H

#include <math.h>
#include <stdbool.h>

typedef struct RingHops {
  double members, node_members; /* node_members: on one node; 0: all of them */
  double inside_ns, between_ns; /* of a message inside a node, and between nodes */
} RingHops;

static inline double ring_nodes(const RingHops *hops) {
  bool is_one_node = hops->node_members <= 0 || hops->node_members >= hops->members;
  return is_one_node ? 1 : ceil(hops->members / hops->node_members);
}

static inline double ring_alone_ns(const RingHops *hops) {
  double nodes = ring_nodes(hops);
  return (hops->members - nodes) * hops->inside_ns + (nodes - 1) * hops->between_ns;
}

/* The latency of the tree; there are several nodes. */
static inline double ring_tree_ns(const RingHops *hops) {
  return (hops->node_members - 1) * hops->inside_ns +
         ceil(log2(ring_nodes(hops))) * hops->between_ns;
}

/* True where NCCL has a tree: `is_sum`, or gathers and scatters of nodes with one member. */
static inline bool ring_has_tree(const RingHops *hops, bool is_sum) {
  return ring_nodes(hops) > 1 && (is_sum || hops->node_members <= 1);
}

/* The latency of the faster way. */
static inline double ring_pass_ns(const RingHops *hops, bool is_sum) {
  double ring = ring_alone_ns(hops);
  return ring_has_tree(hops, is_sum) ? fmin(ring, ring_tree_ns(hops)) : ring;
}

#endif
