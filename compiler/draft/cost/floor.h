/* floor.h -- a time that no program takes less than for one train step, if it divides the job as
 * this plan does on the same machine.
 *
 * The floor is the largest of four times, not their sum, because all of them may overlap:
 *   compute    FLOPs of the slowest stage at the device's peak, after the forward pass of one
 *              micro-batch through the stages before it
 *   memory     one pass of the update over its states
 *   inside     bytes over the links inside a node
 *   network    bytes over the NICs of a node
 * Work that another program may avoid is left out: recomputed FLOPs, traffic of activations,
 * latency, and half the bytes of a sum, which a switch may reduce on their way. */
#ifndef LOCKSTEP_COST_FLOOR_H
#define LOCKSTEP_COST_FLOOR_H

#include "compiler/draft/draft.h"
#include "runtime/plan/plan.h"

typedef enum FloorBound {
  FLOOR_COMPUTE,
  FLOOR_MEMORY,
  FLOOR_INSIDE,
  FLOOR_NETWORK,
  FLOOR_BOUNDS
} FloorBound;

typedef struct Floor {
  double seconds[FLOOR_BOUNDS]; /* of the class that needs most; 0: a rate is unknown */
  FloorBound bound;             /* the largest */
} Floor;

/* Scratch memory from d->compile->arena. */
Floor floor_of(const Draft *d, const Plan *plan);

#endif
