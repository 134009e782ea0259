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

/* The lists of every region of both graphs: forward, recompute, backward. */
void region_segments_build(Draft *d);

/* Of every block of parameters: init, gather, reduce, norm, update. */
void block_segments_build(Draft *d);

/* Of both graphs: load, and the sum of what all ranks must agree on. */
void step_segments_build(Draft *d);

/* Makes one run a member of collectives that move many pieces, where the target asks for it. */
void pieces_pack(Draft *d);

#endif
