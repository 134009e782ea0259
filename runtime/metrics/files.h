/* files.h -- the run directory's files: the half of report.h that programs read. */
#ifndef LOCKSTEP_METRICS_FILES_H
#define LOCKSTEP_METRICS_FILES_H

#include "runtime/metrics/history.h"
#include "runtime/metrics/report.h"

bool report_files_open(Report *report, History *history, Status *status);
void report_files_step(Report *report, const StepFacts *facts, double tokens_per_s, double mfu);
void report_files_valid(Report *report, int64_t step, double loss);
/* summary.json and loss.svg, each the old file or the whole new one; then the summary on stdout
 * when it was asked for. */
bool report_files_close(Report *report, const EndFacts *facts, const Plot *plot, Status *status);

/* The most memory that the process has had resident. */
uint64_t report_resident_bytes(void);

#endif
