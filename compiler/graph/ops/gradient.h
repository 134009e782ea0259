/* gradient.h -- the gradient under construction, and what an op's backward rule may ask of it and
 * append to it: grad_output is the gradient that reaches an output of the node, grad_add gives an
 * input its gradient. The pass in grad/ walks the regions and calls the rules. */
#ifndef LOCKSTEP_OPS_GRADIENT_H
#define LOCKSTEP_OPS_GRADIENT_H

#include "compiler/graph/ops/op.h"

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
/* adds to a gradient that is there already */
void grad_add(Grad *b, ValueId v, ValueId d_v);

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

/* The last node made v of the forward pass once more, as `again`: the nodes of the list that read v
 * run after it and read that, so that v need not be kept. They stay as they are if one of them
 * makes more than gradients of parameters, for others may wait for it. */
void grad_again(Grad *b, ValueId v, ValueId again);

/* ---- for the pass */
ValueId grad_of(const Grad *b, ValueId v); /* collected so far, or NO_ID */
void grad_set(Grad *b, ValueId v, ValueId d_v);
void grad_cover(Grad *b, ValueId v); /* makes the arrays long enough for v */

#endif
