/* forecast.h -- the time of a step from the times of its parts: steps of stages, layers where
 * weights or gradients move beside them, and exchanges. No call, no address, no edge is made. */
#ifndef LOCKSTEP_FORECAST_H
#define LOCKSTEP_FORECAST_H

#include "compiler/draft/draft.h"
#include "compiler/search/estimate.h"
#include "compiler/search/flow.h"

/* False: for jobs that move states or frames out of device memory, and for other programs' software
 * that does not overlap communication, only a plan has the time. */
bool forecast_is_known(const Draft *d);

/* For a draft of compile_rearranged that is cut into stages; ranks in the order that is predicted
 * to communicate best. Within a few percent of what the plan's simulation says (tests/unit/search).
 * `least_ns` (NULL: not asked): the same where no layer waits until another's memory is free, which
 * is what plans and forecasts know least alike: the step of a plan takes that long, or longer. */
int64_t forecast_ns(Flows *flows, const Draft *d, int64_t *least_ns);

/* The same by cause, with what the other causes leave: time that a step would not take if nothing
 * were sent over an axis; the work of the busiest stage; the rest is bubble. */
void forecast_parts(Flows *flows, const Draft *d, int64_t part_ns[ESTIMATE_PARTS]);

/* The ranks of such a draft in the order that is predicted to communicate best; flow NULL: it has
 * one stage. */
const Placement *forecast_place(const Draft *d, const Flow *flow);

/* Bytes of a value that stages exchange. */
int64_t forecast_value_bytes(const Draft *d);

#endif
