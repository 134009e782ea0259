/* prove.h -- what must hold of a plan before a job may start with it, shown from the plan alone.
 *
 * In:  any plan that plan_check accepts; what can be worked out again is not taken on trust.
 * Out: true when every property below holds; otherwise one line per violation.
 *
 * - shapes: operands are as large as their kernel's dims make them, read and written as it does.
 * - communication: ranks that share communicators issue the same communications in one order,
 *   equal in kind, bytes, dtype, reduction, meaning, layer and micro-batch.
 * - timeline: every program ends when each communication blocks until all its members have come.
 * - memory: buffers share bytes only when their lifetimes do not meet; what a call reaches through
 *   a base lies in one buffer that is live then; recorded peaks are the real ones, and fit.
 * - ordering: records on different lanes touch the same bytes, one writing, only if edges order
 *   them.
 * - dataflow: every byte read was written before, in this life of its buffer, or by init.
 * - values: what a record leaves in a transient buffer is read before it is overwritten or the
 *   buffer's life ends, and never after a part of it was overwritten.
 * - step: every micro-batch is loaded once and its loss counts once. Every gradient is assigned by
 *   the first, added to by the others, reduced over dp once, in the norm once, and used by one
 *   update of its own parameter. Norm and control values come before any update. Parameters have
 *   an initial value of their own, and nothing but updates changes them.
 *
 * Not shown: that a value read is the right one among those of equal place and size, and that a
 * gradient has all the contributions which the model gives it; only the compiler knows the model.
 *
 * Records are looked at per call, loops for two iterations, ranks per class: never rank by rank. */
#ifndef LOCKSTEP_PROVE_H
#define LOCKSTEP_PROVE_H

#include "runtime/plan/plan.h"

enum { PROVE_FINDINGS_MAX = 32, PROVE_LINE_BYTES = 320 };

typedef struct ProveReport {
  uint32_t finding_count; /* all of them; only the first PROVE_FINDINGS_MAX are kept */
  char finding[PROVE_FINDINGS_MAX][PROVE_LINE_BYTES];
  uint64_t ranks, classes, communicators; /* communicators: sub-mesh patterns that are used */
  uint64_t calls, records, accesses, communications; /* walked, of all classes and programs */
} ProveReport;

/* Fills the whole report. */
bool prove(const Plan *plan, ProveReport *report);

#endif
