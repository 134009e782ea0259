/* prepare.h -- what must hold before differentiation, and what is changed so that it does. Private
 * to grad/. */
#ifndef LOCKSTEP_GRAD_PREPARE_H
#define LOCKSTEP_GRAD_PREPARE_H

#include "compiler/graph/graph.h"

/* Values pass from region to region only as the carried one, parameters stay on one side of a
 * stack's border. False when reported. */
bool prepare_check(Graph *g);

/* Drops forward nodes whose results nobody reads, with a lint for the last one of each chain. */
void prepare_drop_dead(Graph *g);

/* A value that its reader destroys is made in the reader's region: others are copied first. The
 * only such reader is a loss, so that of the nodes that lead to one none else can read the value.
 */
void prepare_overwritten(Graph *g);

#endif
