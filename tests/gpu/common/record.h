/* record.h -- results as JSON, one object a line.
 *
 * One line is one case. A line is written whole or not at all and flushed at once, so a probe that
 * is stopped at its time limit leaves every case it had finished. Keys end in their unit.
 */
#ifndef GPU_RECORD_H
#define GPU_RECORD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Results Results;

/* Creates (or empties) `path`. NULL, with a message on stderr, when it cannot be written. */
Results *results_open(const char *path);

/* True when every record so far ended well. Frees `results`. */
bool results_close(Results *results);

/* One case: begin, any number of fields, end. Values that are not finite become null. */
void record_begin(Results *results, const char *probe, const char *name);
void record_text(Results *results, const char *key, const char *text);
void record_number(Results *results, const char *key, double value);
void record_integer(Results *results, const char *key, int64_t value);
void record_bool(Results *results, const char *key, bool value);

/* Ends the case. Adds "ok", and "error" with probe_failure() when not ok; clears that failure.
 * Prints one line for the log. */
void record_end(Results *results, bool ok);

#endif
