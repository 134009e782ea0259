/* packed.h -- a plan as it would be if collectives moved pieces. Private to compiler/prove.
 *
 * pack, a collective of one run a member and unpack do together what the collective with pieces
 * does. Here the three are held against each other, and what is left to judge is that collective:
 * who follows values need not know that they were packed on the way. */
#ifndef LOCKSTEP_PROVE_PACKED_H
#define LOCKSTEP_PROVE_PACKED_H

#include "compiler/prove/walk.h"

typedef struct Unpacked {
  Plan plan; /* records stand where they stood; pack and unpack never run */
  PlanRecord *records;
  PlanOperand *operands;
  int64_t *ints;
  double *reals;
} Unpacked;

/* Findings name what is no such three. `view`: without a class. False: out of memory, a finding. */
bool unpacked_open(const View *view, Unpacked *unpacked);
void unpacked_close(Unpacked *unpacked);

#endif
