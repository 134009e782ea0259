/* price.h -- how long a communication takes: messages times latency, and bytes over the link of the
 * slowest rank. Rings for reductions and gathers; of an exchange the larger of what leaves and what
 * comes. */
#ifndef LOCKSTEP_COST_PRICE_H
#define LOCKSTEP_COST_PRICE_H

#include "runtime/plan/plan.h"

/* Of any record of the plan, as a class runs it. A plan without links prices communications at 0.
 */
int64_t price_ns(const Plan *plan, uint32_t class, const PlanRecord *record);

static inline bool is_communication(const PlanRecord *record) {
  return record->kind != RECORD_KERNEL && record->kind != RECORD_LOAD;
}

/* ---- for link.c, which prices what is no plan yet */

/* What a rank has to do with a communication: kind and members, then every operand is added. */
typedef struct Traffic {
  RecordKind kind;
  double members, largest_bytes, sent_bytes, received_bytes;
  double calls; /* of a library that moves one run of memory a call; 1 where threads move pieces */
  int32_t sends, receives;
} Traffic;

void traffic_add(Traffic *t, double size_bytes, Access access);
int64_t traffic_ns(const Traffic *t, const PlanLink *link);

#endif
