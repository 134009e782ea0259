/* parts.h -- what the time of the main lane went into. Private to this folder. */
#ifndef LOCKSTEP_COST_LANE_PARTS_H
#define LOCKSTEP_COST_LANE_PARTS_H

#include "compiler/plan/simulate/simulate.h"

/* The main lane spent took_ns on a communication, moving_ns of it on moving bytes. Between stages
 * the rest is bubble; elsewhere all of it is exposed communication. */
void parts_add_exposed(const Plan *plan, LaneParts *parts, const PlanRecord *record,
                       int64_t took_ns, int64_t moving_ns);
void parts_add_record(const Plan *plan, LaneParts *parts, const PlanRecord *record,
                      int64_t took_ns);
void parts_add(LaneParts *to, const LaneParts *parts);

#endif
