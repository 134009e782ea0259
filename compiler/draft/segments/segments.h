/* segments.h -- the code of a step; each piece is written once, for all layers, micro-batches and
 * stages that run it.
 *
 * In:   the cut graphs of training and validation.   Out: blocks of parameters, segments. */
#ifndef LOCKSTEP_SEGMENTS_H
#define LOCKSTEP_SEGMENTS_H

#include "compiler/draft/draft.h"

/* Groups parameters that are treated alike into blocks, and gives each its place in its block. */
void blocks_layout(Draft *d);

/* Gives each input its place in a staged micro-batch. */
void inputs_layout(Draft *d);

/* The end of its segments' names: "" in training. */
const char *segment_suffix(const Graph *g);

/* Builds the forward, recompute and backward segments of every region of both graphs. */
void region_segments_build(Draft *d);

/* Builds init, gather, reduce, norm and update of every block of parameters. */
void block_segments_build(Draft *d);

/* Builds, for both graphs, load and the sum of what all ranks must agree on. */
void step_segments_build(Draft *d);

/* Makes collectives of many pieces collectives of one run a member, where the target asks for it.
 */
void pieces_gather(Draft *d);

/* Marks the records that may be fused with the record before them. */
void records_fuse(Draft *d);

#endif
