/* alike.h -- nodes whose communicators look alike, so that one represents all. Private to the
 * room. */
#ifndef LOCKSTEP_ALIKE_H
#define LOCKSTEP_ALIKE_H

#include "compiler/machine/place/place.h"

/* Nodes of one kind whose positions have the same coordinates, except along axes that no node
 * divides, and whose communicators have the same distances. */
typedef struct NodeClass {
  int64_t node, count;   /* one node of the class; how many there are */
  int64_t block, offset; /* the node's slots begin at offset in a block of slots; coordinates
                            outside the block are the same for all of the node */
  int32_t kind, stage;   /* stage -1: several stages, or communicators that cross stages */
  int32_t farthest;      /* for nodes that are blocks: the distance of their communicators */
  uint64_t distances;    /* a hash of the distances from its positions to members on other nodes */
} NodeClass;

typedef struct NodeClasses {
  VEC(NodeClass) list;
  int32_t *like; /* by stage: the first stage that has the same classes */
} NodeClasses;

/* The classes for communicators along the axes, independent of seats. Computed once. */
const NodeClasses *alike_nodes(const Fabric *fabric, const Placement *at, uint32_t axes);

static inline bool has_axis(uint32_t axes, int32_t axis) {
  return (axes >> axis & 1u) != 0;
}

static inline int64_t digit_of(const Digit *digit, int64_t slot) {
  return slot / digit->stride % digit->size;
}

/* By how much the slanting digits of these axes rotate the slanted one. */
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

/* True if members of a communicator along the axes differ in the slanted digit only because of the
 * slant. */
bool alike_is_diagonal(const Placement *at, uint32_t axes);

/* The distance of the communicator that has the slot. */
int32_t alike_distance(const Fabric *fabric, const Placement *at, uint32_t axes, int64_t slot);

#endif
