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

/* The latency of the faster way; of the ring alone where `is_sum` is false and nodes have several
 * members. */
static inline double ring_pass_ns(const RingHops *hops, bool is_sum) {
  double nodes = ring_nodes(hops);
  if (nodes <= 1) return (hops->members - 1) * hops->inside_ns;
  double ring = (hops->members - nodes) * hops->inside_ns + (nodes - 1) * hops->between_ns;
  double tree = (hops->node_members - 1) * hops->inside_ns + ceil(log2(nodes)) * hops->between_ns;
  bool has_tree = is_sum || hops->node_members <= 1;
  return has_tree && tree < ring ? tree : ring;
}

#endif
