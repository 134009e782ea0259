/* types.h -- the proof by types: that the plan computes the model that it states.
 *
 * Memory is typed: every span of a buffer holds a value of the model, of a layer, a micro-batch and
 * a place along the axes of the mesh, or nothing that may be read. Every record is a typing rule:
 * its operands must hold its node's values, and its results get theirs. What has no rule is
 * refused. Nodes are the model: that backward is the derivative of forward is shown of them, and
 * that a record is a faithful call of its node's kernel is shown of it, elsewhere.
 *
 * At the end of a step every parameter, master and moment is new, in its place; before it, old. */
#ifndef LOCKSTEP_PROVE_TYPES_H
#define LOCKSTEP_PROVE_TYPES_H

#include "compiler/prove/walk.h"

/* Adds findings of property "types". `views` of all classes are open; the plan states a model. */
void prove_types(const View *views, uint32_t count);

#endif
