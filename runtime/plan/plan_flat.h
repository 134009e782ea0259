/* plan_flat.h -- collectives of a library move one run of memory for each member, so a record needs
 * as many library calls as its operands have pieces. */
#ifndef LOCKSTEP_PLAN_FLAT_H
#define LOCKSTEP_PLAN_FLAT_H

#include "runtime/plan/plan.h"

/* The flat calls of a communication with these dims, which plan_check accepts: PlanRecord in
 * plan.def. An all_to_all has as many pieces as the side that has more; an exchange is a send or a
 * receive for each operand. */
static inline uint64_t plan_flat_calls(RecordKind kind, const int64_t *dims, uint32_t dims_count) {
  if (kind == RECORD_ALL_REDUCE) return 1;
  if (kind == RECORD_EXCHANGE) return dims_count;
  if (kind == RECORD_ALL_TO_ALL) return (uint64_t)dims[0] * (uint64_t)dims[1] * (uint64_t)dims[2];
  uint64_t calls = 0;
  for (uint32_t i = 0; i < dims_count; i += 2)
    calls += (uint64_t)dims[i];
  return calls;
}

#endif
