/* grad.h -- reverse-mode differentiation of a graph, region by region, and recomputation.
 *
 * In:  a forward graph (training).  Out: region->backward lists, param->grad values, d_input /
 * d_output. An op's backward rule asks grad_output for what reaches its outputs and calls grad_add
 * for each input. */
#ifndef LOCKSTEP_GRAD_H
#define LOCKSTEP_GRAD_H

#include "compiler/graph/graph.h"
#include "compiler/ops/op.h"

struct Grad {
  Graph *graph;
  Region *region;         /* being differentiated */
  NodeList *list;         /* where backward nodes go */
  const Node *node;       /* being differentiated */
  ValueId *d_of;          /* by ValueId: gradient collected so far, or NO_ID */
  bool *needed;           /* by ValueId: a trainable parameter lies upstream */
  int32_t value_capacity; /* of the two arrays */
};

bool grad_needed(const Grad *b, ValueId v);
ValueId grad_output(Grad *b, const Node *n, int32_t output); /* NO_ID: no gradient reaches it */
void grad_add(Grad *b, ValueId v, ValueId d_v);              /* sums when there is one already */

/* The gradient storage of a parameter; also says whether this contribution assigns or adds. */
ValueId grad_param(Grad *b, ValueId param_value, Accumulate *accumulate);

/* A fresh value with the dims and dtype of v, named after it. */
ValueId grad_like(Grad *b, ValueId v);

/* Moves d_v, whose producer then writes it with a row stride, into d_x at `offset` of each token.
 * False when its producer or a reader cannot: then the caller copies. */
bool grad_place(Grad *b, ValueId d_v, ValueId d_x, int64_t offset);

/* Appends a backward node of `op` in the current region, with path, origin and attrs of `of`.
 * inputs and outputs end with NO_ID; outputs NULL: the op's shape rule makes them. */
NodeId grad_append(Grad *b, const Node *of, OpKind op, const ValueId *inputs,
                   const ValueId *outputs);

/* Derives all regions. False when reported. */
bool grad_derive(Graph *g);

typedef enum RecomputeKind { RECOMPUTE_NONE, RECOMPUTE_BLOCK, RECOMPUTE_EVERY } RecomputeKind;

/* Must come after grad_derive: fills region->recompute of every stack with clones of the forward
 * nodes whose values backward reads, rewires backward to the clones, drops dead clones.
 * `group_layers` > 1: region inputs are kept only once per group, so clones also make the region's
 * output. The carried input itself is never recomputed. */
void recompute_apply(Graph *g, RecomputeKind kind, int64_t group_layers);

/* Moves what only makes parameter gradients from region->backward to region->weight, in order, so
 * that a schedule may run it later. After shard_apply and recompute_apply. */
void grad_split_weight(Graph *g);

#endif
