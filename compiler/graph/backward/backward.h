/* backward.h -- chooses the values that backward recomputes, the nodes that may be deferred, and
 * the nodes that run in chunks.
 *
 * In:   a sharded graph with backward lists.   Out: region->recompute, region->weight, chunks. */
#ifndef LOCKSTEP_BACKWARD_H
#define LOCKSTEP_BACKWARD_H

#include "compiler/graph/graph.h"

typedef enum RecomputeKind {
  RECOMPUTE_NONE,
  RECOMPUTE_SELECTIVE,
  RECOMPUTE_BLOCK,
  RECOMPUTE_EVERY
} RecomputeKind;

/* Fills region->recompute of every stack with clones of the forward nodes whose values backward
 * reads, and makes backward read the clones. Selective: only of light nodes (OpDef), where their
 * inputs are there anyway. With `group_layers` > 1 a region's input is kept only once for each
 * group, so clones also make the region's output. The carried input itself is never recomputed. */
void recompute_apply(Graph *g, RecomputeKind kind, int64_t group_layers);

/* Has the model's last linear layer and its loss run chunk by chunk, `chunks` equal runs of tokens
 * one after another: in training in backward, with the gradients of that layer. `at`: where the job
 * asks for it. False when reported. Before backward_split. */
bool backward_chunks(Graph *g, int64_t chunks, Span at);

/* The highest number of chunks, up to `most`, that divides the tokens; 1 when the model does not
 * end so. The loss of `g` is not in chunks yet. */
int64_t backward_chunks_most(Graph *g, int64_t most);

/* Moves nodes that only make parameter gradients from region->backward to region->weight, in order,
 * so that a schedule may run them later. After recompute_apply. */
void backward_split(Graph *g);

/* Places the gradients of biases where plans for GPUs may fuse them. After backward_split. */
void backward_place_riders(Graph *g);

#endif
