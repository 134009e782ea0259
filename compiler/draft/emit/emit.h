/* emit.h -- the draft as a plan: tables of fixed-size records, strings once.
 *
 * Byte-identical for equal drafts: no pointers, no time, no hash order, only integers and the
 * user's own doubles. */
#ifndef LOCKSTEP_EMIT_H
#define LOCKSTEP_EMIT_H

#include "compiler/draft/draft.h"

/* All tables stand in the compile's arena. Where ranks are is chosen here: how much they
 * communicate is not known before. */
Choice emit_plan(const Draft *d, int64_t parameters, Plan *plan);

#endif
