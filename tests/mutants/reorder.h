/* reorder.h -- equivalent plans in another order, by seed, which the proof should accept.
 *
 * Two neighbours change places, records of a segment or calls of a program, that
 *   - touch no bytes of which one of them writes, on any rank, in any call;
 *   - are not both communications, nor both loads;
 *   - neither wait for each other, nor use and set control values.
 * References to them stay valid. Two records of one lane keep what they were ordered
 * after and before: who waited for one of the two now waits for the later, and who now comes first
 * waits for what both waited for. */
#ifndef LOCKSTEP_TESTS_REORDER_H
#define LOCKSTEP_TESTS_REORDER_H

#include "tests/unit/plan_builder.h"

typedef enum ReorderKind { REORDER_RECORDS, REORDER_CALLS, REORDER_KIND_COUNT } ReorderKind;

enum { REORDER_TEXT_BYTES = 160 };

/* Fills `plan`, which must be empty. False, and empty: nothing was found to change. */
bool plan_reorder(const Plan *good, uint64_t seed, ReorderKind kind, PlanBuilder *plan,
                  char text[REORDER_TEXT_BYTES]);

#endif
