/* emit.h -- the draft as a plan: tables of fixed-size records, strings once.
 *
 * Byte-identical for equal drafts: no pointers, no time, no hash order, only integers and the
 * user's own doubles. */
#ifndef LOCKSTEP_EMIT_H
#define LOCKSTEP_EMIT_H

#include "compiler/draft/draft.h"

/* The placement of ranks for these demands: as the job asks, or in the best order. */
Choice draft_choose_places(const Draft *d, const Demands *demands);

/* All tables are in the compile's arena. The order of ranks is chosen here, because it depends on
 * how much they communicate, which is known only now. */
Choice emit_plan(const Draft *d, int64_t parameters, Plan *plan);

#endif
