/* files.h -- the files of the run directory: the part of report.h for programs. */
#ifndef LOCKSTEP_METRICS_FILES_H
#define LOCKSTEP_METRICS_FILES_H

#include "runtime/metrics/history.h"
#include "runtime/metrics/report.h"

bool report_files_open(Report *report, History *history, Status *status);
void report_files_step(Report *report, const StepFacts *facts, double tokens_per_s, double mfu);
void report_files_valid(Report *report, int64_t step, const LossSums *losses);
void report_files_save(Report *report, const SaveFacts *facts);
void report_files_save_failed(Report *report, int64_t step, const char *why);
/* Writes summary.json and loss.svg, each completely or not at all; then the summary to stdout if
 * asked for. */
bool report_files_close(Report *report, const EndFacts *facts, const Plot *plot, Status *status);

/* The peak resident memory of the process. */
uint64_t report_resident_bytes(void);

#endif
