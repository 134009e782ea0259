/* prove.h -- what must hold of a plan before a job may start with it, shown from the plan alone.
 *
 * In:  any plan that plan_check accepts; nothing the compiler knew is trusted where it can be
 * worked out again. Out: true when every property below holds; otherwise one line per violation.
 *
 * shapes         operands are as large as their kernel's dims make them, read and written as the
 * kernel does. communication  ranks that share communicators issue the same communications in one
 * common order: kind, bytes, dtype, reduction, meaning, layer, micro-batch. timeline       every
 * program runs to its end when each communication blocks until all its members have come. memory
 * buffers of the ledger share bytes only when their lifetimes do not meet; what a call reaches
 * through a base lies in one buffer that is live then; recorded peaks are the real ones, and fit.
 * ordering two records on different lanes touch the same bytes, one of them writing, only if edges
 * order them. dataflow       every byte read was written before: earlier in the step by the
 * buffer's owner, or by init. step           every micro-batch is loaded once and its loss counted
 * once; every gradient is assigned by the first, added to by the others, reduced over dp once, in
 * the norm once, and consumed by one update of its own parameter; norm and control values come
 * before any update; nothing else writes parameters.
 *
 * Segments are looked at per call, loops for two iterations, ranks per class: never rank by rank.
 */
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
