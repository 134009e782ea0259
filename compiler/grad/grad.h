/* grad.h -- reverse-mode differentiation of a graph, region by region, and recomputation.
 *
 * In:  a forward graph (training).  Out: region->backward lists, param->grad values, d_input /
 * d_output. Ops' backward rules append the nodes (ops/backward.h). */
#ifndef LOCKSTEP_GRAD_H
#define LOCKSTEP_GRAD_H

#include "compiler/ops/backward.h"

/* Derives all regions. False when reported. */
bool grad_derive(Graph *g);

typedef enum RecomputeKind { RECOMPUTE_NONE, RECOMPUTE_BLOCK, RECOMPUTE_EVERY } RecomputeKind;

/* Must come after grad_derive: fills region->recompute of every stack with clones of the forward
 * nodes whose values backward reads, rewires backward to the clones, drops dead clones.
 * `group_layers` > 1: region inputs are kept only once per group, so clones also make the region's
 * output. The carried input itself is never recomputed. */
void recompute_apply(Graph *g, RecomputeKind kind, int64_t group_layers);

/* Moves nodes that only make parameter gradients from region->backward to region->weight, in order,
 * so that a schedule may run it later. After shard_apply and recompute_apply. */
void grad_split_weight(Graph *g);

#endif
