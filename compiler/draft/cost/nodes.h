/* nodes.h -- what the ranks of a node need of its memory together.
 *
 * In: a plan with places.   Out: bytes by node. Nodes whose ranks need the same number of bytes are
 * one row. */
#ifndef LOCKSTEP_COST_NODES_H
#define LOCKSTEP_COST_NODES_H

#include "compiler/base/base.h"
#include "runtime/plan/plan.h"

typedef struct NodeNeed {
  uint32_t nodes;     /* how many nodes have these needs */
  uint32_t ranks;     /* of one such node */
  int64_t host_bytes; /* arenas of its ranks in host memory */
  int64_t file_bytes; /* the same in files */
  int64_t all_bytes;  /* of processors: arenas in all memory, which is the node's */
} NodeNeed;

typedef struct NodeNeeds {
  NodeNeed *at;
  int32_t count;
} NodeNeeds;

/* The needs of one rank of the class. A node has at most as many ranks as devices. */
NodeNeed node_need_of_rank(const Plan *plan, const PlanClass *class);

NodeNeeds node_needs(Arena *arena, const Plan *plan);

#endif
