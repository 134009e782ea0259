/* edges.h -- which records wait for which on other lanes.
 *
 * In:   a draft whose buffers have offsets.   Out: `after` of records, `waits` of calls. */
#ifndef LOCKSTEP_EDGES_H
#define LOCKSTEP_EDGES_H

#include "compiler/draft/draft.h"

void edges_build(Draft *d);

/* Only edges between records of one segment: for drafts that do not become plans. */
void edges_inside(Draft *d);

#endif
