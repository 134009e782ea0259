/* cost.h -- what a start of a run has cost so far: hours of GPUs, cores and nodes, and money. */
#ifndef LOCKSTEP_METRICS_COST_H
#define LOCKSTEP_METRICS_COST_H

#include "runtime/metrics/report.h"

/* NAN: unknown. Ranks on GPUs have gpu_hours, others core_hours. */
typedef struct RunCost {
  double gpu_hours, core_hours, node_hours;
  double dollars; /* by cluster.price, of the devices that the plan is for */
} RunCost;

RunCost cost_of(const ReportSetup *setup, double seconds);

/* The time of a step, in seconds, that the plan predicts; 0: it has no prediction for this device.
 */
double expected_step_s(const ReportSetup *setup);

#endif
