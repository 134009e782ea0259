/* plan_io.h -- plans as files, as bytes and as text.
 *
 * Errors: false with one line in `why` (no newline), never a crash, whatever the bytes are. */
#ifndef LOCKSTEP_PLAN_IO_H
#define LOCKSTEP_PLAN_IO_H

#include <stdio.h>

#include "runtime/plan/plan.h"

enum { PLAN_WHY_BYTES = 256 };

/* Checks the plan and sets plan->id. Writes a temporary file beside `path`, syncs and renames it: a
 * reader sees the old file or the whole new one. */
bool plan_write(Plan *plan, const char *path, char why[PLAN_WHY_BYTES]);

/* Maps the file; checks magic, version, checksum and structure (plan_check). plan_close unmaps. */
bool plan_open(Plan *plan, const char *path, char why[PLAN_WHY_BYTES]);
void plan_close(Plan *plan);

/* The same for a plan's bytes in memory, 8-byte aligned, which must outlive the plan. */
bool plan_from_bytes(Plan *plan, const void *bytes, size_t byte_count, char why[PLAN_WHY_BYTES]);

/* A plan that it accepts can be replayed without further checks. Exactly one job, at least one
 * class, any other table may be empty. Every reference, range, string, enum and flag is in bounds
 * and every range has one owner. Classes tile the mesh. Bindings of every coordinate of a class lie
 * in its arena with their whole base, and operands in their base. Calls bind every base, waits
 * point back, loops and launches are ordered and disjoint, records of one launch are alike, records
 * that may be fused give the same bytes (plan_check_fusions.c), `after` edges lead to earlier
 * records on other lanes. Kernels have a name and at most the operands, dims and attributes of
 * kernel.h. A LOAD has one operand per input, of exactly a micro-batch; an all-reduce one, updated
 * in place; other collectives a source and a destination. */
bool plan_check(const Plan *plan, char why[PLAN_WHY_BYTES]);

/* The text form, one record a line; with `segment` only that segment. plan_parse reads the whole
 * form back into a plan whose tables it allocates with malloc in one block (free(plan->mapped) via
 * plan_close). */
void plan_print(const Plan *plan, FILE *out, const char *segment);

/* The model that the plan carries out, before sharding: one line for each node. */
void plan_print_model(const Plan *plan, FILE *out);
bool plan_parse(Plan *plan, const char *text, size_t text_bytes, char why[PLAN_WHY_BYTES]);

/* The checksum that this plan's file has: over the table directory and every table. */
uint64_t plan_compute_id(const Plan *plan);

#endif
