/* price.h -- how long a communication takes: latency, and bytes over the link of the slowest rank.
 * Sums and gathers pass all members, in a ring or a tree for latency (ring.h), in rings over all
 * NICs on their way for bytes; of an exchange the larger of what leaves and what comes, between two
 * members. */
#ifndef LOCKSTEP_COST_PRICE_H
#define LOCKSTEP_COST_PRICE_H

#include "runtime/plan/plan.h"

/* Predicted time of any record of the plan, run by a class. A plan without links prices
 * communications at 0. */
int64_t price_ns(const Plan *plan, uint32_t class, const PlanRecord *record);

/* True if every communication takes equally long over both. */
bool price_same_link(const PlanLink *a, const PlanLink *b);

/* ---- for link.c, which prices what is no plan yet, and demand.c, which adds up */

/* One rank's share of a communication: kind and members, then every operand is added. */
typedef struct Traffic {
  RecordKind kind;
  double members, largest_bytes, sent_bytes, received_bytes;
  double calls; /* of a library that moves one run of memory a call; 1 where threads move pieces */
  int32_t sends, receives;
  bool has_library; /* NCCL moves it, which starts kernels and chooses a protocol */
} Traffic;

void traffic_add(Traffic *t, double size_bytes, Access access);
Traffic traffic_of(const Plan *plan, const PlanRecord *record);
int64_t traffic_ns(const Traffic *t, const PlanLink *link);

/* From member to member at once: no other member's NIC has a part in it. */
static inline bool traffic_is_pairwise(const Traffic *t) {
  return t->kind == RECORD_EXCHANGE || t->kind == RECORD_ALL_TO_ALL;
}

double traffic_sent_bytes(const Traffic *t); /* by one rank, in rings */
double traffic_bytes(const Traffic *t);      /* the same, or what comes where that is more */
double traffic_passes(const Traffic *t);     /* over all members, one after the other */
double traffic_messages(const Traffic *t);   /* of pairwise traffic */

#endif
