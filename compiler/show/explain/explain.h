/* explain.h -- the results of a compile, as text and as JSON.
 *
 * All numbers come from the plan's own ledger and records: nothing is computed a second way. */
#ifndef LOCKSTEP_EXPLAIN_H
#define LOCKSTEP_EXPLAIN_H

#include "compiler/compile.h"
#include "compiler/draft/cost/saves.h"

/* The dozen lines that `compile` prints: model, batch, ranks, memory, time, run. */
void explain_summary(const Compiled *compiled, FILE *out);

/* One row per kind of memory at the moment of the train step's peak, one column per pipeline stage,
 * then the peak and the budget. */
void explain_memory(const Compiled *compiled, FILE *out);

/* Every buffer of one rank that is alive at the peak, largest first: `explain --why rank=N`. */
void explain_rank(const Compiled *compiled, int64_t rank, FILE *out);

/* Every communication with the layouts before and after it, what a rank sends in a step, and
 * whether ring attention hides its exchange: `explain --layouts`. As JSON, version 1, without the
 * last: `times` and `classes` are by class; `step` is what one rank sends over each
 * communicator, on the stage that sends most. */
void explain_layouts(const Compiled *compiled, FILE *out);
void explain_layouts_json(const Compiled *compiled, FILE *out);

/* Pipeline stages: layers, micro-batches in flight, their bytes, the idle share; then the train
 * step as a timeline: `explain --schedule`. */
void explain_schedule(const Compiled *compiled, FILE *out);

/* Prints the effect of train.deterministic on the job's devices; nothing if it is false. */
void explain_bits(const Compiled *compiled, FILE *out);

/* The learning rate at the steps where its curve bends, and at some between: `explain JOB
 * schedule`.
 */
void explain_rates(const Compiled *compiled, FILE *out);

/* Which rank has which coordinates and is on which node: `explain --map`, with --json for each
 * rank, with --svg as a picture. */
void explain_map(const Compiled *compiled, FILE *out);
void explain_map_json(const Compiled *compiled, FILE *out);
bool explain_map_svg(const Compiled *compiled, FILE *out); /* false: not all was written */

/* Where one rank is, what it has, and with which ranks it communicates over which links: `explain
 * --rank N`. */
void explain_seat(const Compiled *compiled, int64_t rank, FILE *out);

/* Why ranks are placed as they are: every order of the axes with its cost: `explain --why place`.
 */
void explain_order(const Compiled *compiled, FILE *out);

/* "dp tp cp pp, as asked: 12 ms ..."; NULL: the user gave no order. */
const char *order_price_text(const Compiled *compiled);

/* Two settings of a job side by side: memory of a rank by kind, bytes that it sends in a step, time
 * of a step, and the differences. `changes` are the settings of the second one: `explain
 * --against`. */
void explain_compare(const Compiled *job, const Compiled *against, const char *changes, FILE *out);
/* True if each rank of both has the same bytes of each kind, sends as many, and takes as long. */
bool explain_is_same(const Compiled *job, const Compiled *against);
/* Makes of a plan file, which remains open, what the two functions here need; its budget is not
 * known. False: it has no step. */
bool explain_take_plan(Compile *c, const Plan *plan, Compiled *out);
void explain_compare_json(const Compiled *job, const Compiled *against, FILE *out);

/* Fills in the sizes and predicted times of a save. False: the job writes no checkpoints. */
bool explain_saves(const Compiled *compiled, Saves *saves);

/* The expected step, part after part, and the communication that kernels hide: `explain
 * --breakdown`, with --svg as a picture. */
void explain_breakdown(const Compiled *compiled, FILE *out);
bool explain_breakdown_svg(const Compiled *compiled, FILE *out); /* false: not all was written */

/* Expected time of a step: this plan's lanes and stages, simulated with kernels and communications
 * as cost/kernel.h and plan/simulate/price.h price them; 0: unknown. */
double step_seconds(const Compiled *compiled);

/* A time that no program takes less than for a step: cost/floor.h; 0: unknown. */
double floor_seconds(const Compiled *compiled);

/* The results of a compile as one JSON object, "version": 2. */
void explain_json(const Compiled *compiled, FILE *out);

#endif
