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

/* Seconds of a step as the plan expects them; 0: it expects none of what it runs on. */
double expected_step_s(const ReportSetup *setup);

#endif
