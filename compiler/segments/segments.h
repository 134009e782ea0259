/* segments.h -- the code of a step, each piece written once: for all layers, micro-batches and
 * stages that run it.
 *
 * In:   the cut graphs of training and validation.   Out: blocks of parameters, segments. */
#ifndef LOCKSTEP_SEGMENTS_H
#define LOCKSTEP_SEGMENTS_H

#include "compiler/draft/draft.h"

/* Which parameters are treated alike, and where each stands in its block. */
void blocks_layout(Draft *d);

/* Where inputs stand in a staged micro-batch. */
void inputs_layout(Draft *d);

/* The lists of every region of a graph: forward, recompute, backward. */
void segments_build(Draft *d, Graph *g, RegionSegments *parts);

/* Of every block of parameters: init, gather, reduce, norm, update. */
void block_segments_build(Draft *d);

/* Makes one run a member of collectives that move many pieces, where the target asks for it. */
void pieces_pack(Draft *d);

/* ---- what calls/ asks for: segments that depend on the stage or on the graph */
int32_t load_segment_build(Draft *d, const Graph *g, const char *name);
int32_t clip_segment_build(Draft *d, const Stage *stage);
int32_t control_segment_build(Draft *d, const char *name); /* NO_ID on one rank */

#endif
