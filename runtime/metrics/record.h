/* record.h -- writes job.json of the run directory: the job, and the program and machine that run
 * it. */
#ifndef LOCKSTEP_METRICS_RECORD_H
#define LOCKSTEP_METRICS_RECORD_H

#include "runtime/metrics/report.h"

/* Every key of the resolved job with its origin, the reason, versions, processor and kernels. The
 * directory must exist. The record of the start that this one continues is kept as
 * job.until_STEP.json. A reader sees the old record or the whole new one. */
bool record_write(const ReportSetup *setup, Status *status);

enum { RECORD_PRODUCTS_BYTES = 96 };

/* The variants of matrix products in the existing job.json: "fp32 NAME, bf16 NAME"; "" if there is
 * none, or an older one without them. */
void record_products_before(const ReportSetup *setup, char products[RECORD_PRODUCTS_BYTES]);

#endif
