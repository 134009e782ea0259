/* plan_io.h -- plans as files and as text. The first record of every table is legal to have count 0.
 *
 * Errors: false or NULL with one line in `why` (no newline), never a crash, whatever the bytes are. */
#ifndef LOCKSTEP_PLAN_IO_H
#define LOCKSTEP_PLAN_IO_H

#include <stdio.h>

#include "runtime/plan/plan.h"

enum { PLAN_WHY_BYTES = 256 };

/* Sets plan->id. Writes beside `path`, syncs, renames: a reader sees the old file or the whole new one. */
bool plan_write(Plan *plan, const char *path, char why[PLAN_WHY_BYTES]);

/* Maps the file; checks magic, version, checksum and structure (plan_check). plan_close unmaps. */
bool plan_open(Plan *plan, const char *path, char why[PLAN_WHY_BYTES]);
void plan_close(Plan *plan);

/* Every reference, range, string and enum is in bounds, operands lie within their bases, bindings within the
 * arena, calls bind every base, loops and `after` edges are well-formed. What it accepts, replay can run. */
bool plan_check(const Plan *plan, char why[PLAN_WHY_BYTES]);

/* The text form, one record a line; with `segment` only that segment. plan_parse reads the whole form back into
 * a plan whose tables it allocates with malloc in one block (free(plan->mapped) via plan_close). */
void plan_print(const Plan *plan, FILE *out, const char *segment);
bool plan_parse(Plan *plan, const char *text, size_t text_bytes, char why[PLAN_WHY_BYTES]);

uint64_t plan_compute_id(const Plan *plan);

#endif
