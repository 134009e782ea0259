/* edges.h -- which records wait for which on other lanes.
 *
 * In:   a draft whose buffers have offsets.   Out: `after` of records, `waits` of calls. */
#ifndef LOCKSTEP_EDGES_H
#define LOCKSTEP_EDGES_H

#include "compiler/draft/draft.h"

void edges_build(Draft *d);

#endif
