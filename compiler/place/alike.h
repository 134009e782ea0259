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

static inline bool has_axis(uint32_t axes, int32_t axis) {
  return (axes >> axis & 1u) != 0;
}

static inline int64_t digit_of(const Digit *digit, int64_t slot) {
  return slot / digit->stride % digit->size;
}

/* By how much the digits that slant, of these axes, turn the slanted one. */
static inline int64_t turn_of(const Placement *at, uint32_t axes, int64_t slot) {
  int64_t turn = 0;
  for (int32_t i = 0; at->slant >> i != 0; i++)
    if ((at->slant >> i & 1u) != 0 && has_axis(axes, at->digit[i].axis))
      turn += digit_of(&at->digit[i], slot);
  return turn;
}

static inline int64_t coordinate_of(const Placement *at, int32_t axis, int64_t slot) {
  int64_t coordinate = 0;
  for (int32_t i = 0; i < at->digit_count; i++) {
    const Digit *digit = &at->digit[i];
    if (digit->axis != axis) continue;
    int64_t own = digit_of(digit, slot);
    if (at->slant != 0 && i == at->slanted)
      own = (own + turn_of(at, UINT32_MAX, slot)) % digit->size;
    coordinate += own * digit->weight;
  }
  return coordinate;
}

/* Do members of a communicator along the axes have the slanted digit for being slanted alone? */
bool alike_is_diagonal(const Placement *at, uint32_t axes);

/* How far the communicator goes that has the slot. */
int32_t alike_distance(const Fabric *fabric, const Placement *at, uint32_t axes, int64_t slot);

#endif
