/* touches.h -- everything that a record reads and writes, which edges must order.
 *
 * Its operands, and the control slots of its kernel's row in kernels.def. */
#ifndef LOCKSTEP_TOUCHES_H
#define LOCKSTEP_TOUCHES_H

#include "compiler/draft/draft.h"

/* The control block is the same bytes whichever base of its role a record uses, or none; so is its
 * mirror in host memory, which kernels on the host use instead. */
enum { CONTROL_BASE = -1, MIRROR_BASE = -2, OWN_BASES = 2 };

typedef struct Touch {
  int32_t base;       /* of the segment, CONTROL_BASE or MIRROR_BASE */
  int64_t first, end; /* from the first byte that some member touches to the last one */
  bool writes;
} Touch;

typedef struct Touches {
  const Touch *at;
  int32_t count;
} Touches;

/* The touches of every record of the segment, in the compile's arena. */
const Touches *touches_of(const Draft *d, const Segment *segment);

/* Bases that belong to no segment come after those of the segment. */
static inline int32_t number_of_base(const Segment *segment, int32_t base) {
  return base < 0 ? segment->bases.count - 1 - base : base;
}

/* inside.c: fills in `after` of the segment's records. */
void order_segment(Arena *arena, const Touches *touches, Segment *segment);

#endif
