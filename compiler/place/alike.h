/* alike.h -- nodes whose communicators look alike, so that one stands for all. Private to the
 * room. */
#ifndef LOCKSTEP_ALIKE_H
#define LOCKSTEP_ALIKE_H

#include "compiler/place/place.h"

/* Nodes of one kind whose positions have the same coordinates, but for those of axes that no node
 * divides, and whose communicators go equally far. */
typedef struct NodeClass {
  int64_t node, count;   /* one of them */
  int64_t block, offset; /* slots of which a node has some, from the offset on; nothing that is
                            outside changes within the node */
  int32_t kind, stage;   /* stage -1: of several, or communicators go through all */
  int32_t farthest;      /* of nodes that are blocks: the distance of their communicators */
  uint64_t distances;    /* of the others: those of each position, mixed */
} NodeClass;

typedef struct NodeClasses {
  VEC(NodeClass) list;
  int32_t *like; /* each stage: the first one that has the same classes */
} NodeClasses;

/* Of communicators along the axes; whatever seats positions have. Worked out once. */
const NodeClasses *alike_nodes(const Fabric *fabric, const Placement *at, uint32_t axes);

static inline int64_t digit_of(const Digit *digit, int64_t slot) {
  return slot / digit->stride % digit->size;
}

static inline int64_t coordinate_of(const Placement *at, int32_t axis, int64_t slot) {
  int64_t coordinate = 0;
  for (int32_t i = 0; i < at->digit_count; i++)
    if (at->digit[i].axis == axis)
      coordinate += digit_of(&at->digit[i], slot) * at->digit[i].weight;
  return coordinate;
}

static inline bool has_axis(uint32_t axes, int32_t axis) {
  return (axes >> axis & 1u) != 0;
}

/* Of the communicator whose first member has the slot; `span`: slots from its first member to the
 * last. Nodes ascend with slots, so these two say how far it goes. */
static inline int32_t distance_from(const Fabric *fabric, int64_t first, int64_t span) {
  return fabric_distance(fabric, fabric_node_of_slot(fabric, first),
                         fabric_node_of_slot(fabric, first + span));
}

#endif
