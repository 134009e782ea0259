/* stage_segments.h -- segments that differ from stage to stage: transfers between stages, and the
 * norm of all gradients, whose squares are at different addresses on each stage. Private to calls/.
 */
#ifndef LOCKSTEP_CALLS_STAGE_SEGMENTS_H
#define LOCKSTEP_CALLS_STAGE_SEGMENTS_H

#include "compiler/draft/draft.h"

typedef struct Transfer {
  bool is_send, is_gradient;
  int32_t distance, chunk, microbatch; /* chunk: local */
} Transfer;

enum { TRANSFERS_MAX = 8 }; /* of one exchange; pipeline.h: at most three */

/* One segment for all exchanges that move the same kinds of values the same ways. `buffers`: of the
 * stage, one for each transfer. */
int32_t exchange_segment_build(Draft *d, const Stage *stage, const Transfer *transfers,
                               int32_t count, const int32_t *buffers);

/* Sums the squares of all gradients over all ranks, and clips. */
int32_t clip_segment_build(Draft *d, const Stage *stage);

#endif
