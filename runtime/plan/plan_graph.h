/* plan_graph.h -- the model that a plan states, as one number. */
#ifndef LOCKSTEP_PLAN_GRAPH_H
#define LOCKSTEP_PLAN_GRAPH_H

#include "runtime/plan/plan.h"

/* A hash of the forward nodes that are trained and of the parameters: ops, paths, numbers, which
 * values go where, and of each parameter its dims, initial values and decay. Equal for equal
 * models, however they are divided. The setting PLAN_GRAPH_KEY has it as text. */
uint64_t plan_graph_hash(const Plan *plan);

enum { PLAN_GRAPH_BYTES = 17 };
const char *plan_graph_text(const Plan *plan, char text[PLAN_GRAPH_BYTES]);

#endif
