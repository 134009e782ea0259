/* record.h -- job.json in the run directory: what was asked for, and what runs it. */
#ifndef LOCKSTEP_METRICS_RECORD_H
#define LOCKSTEP_METRICS_RECORD_H

#include "runtime/metrics/report.h"

/* Every key of the resolved job with its origin, the reason, versions, processor and kernels. The
 * directory must be there. The record of the start before, which this one goes on from, is kept as
 * job.until_STEP.json. A reader sees the old record or the whole new one. */
bool record_write(const ReportSetup *setup, Status *status);

#endif
