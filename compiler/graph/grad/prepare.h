/* prepare.h -- what must hold before differentiation, and what is changed so that it does. Private
 * to grad/. */
#ifndef LOCKSTEP_GRAD_PREPARE_H
#define LOCKSTEP_GRAD_PREPARE_H

#include "compiler/graph/graph.h"

/* Only the carried value passes from region to region, parameters stay on one side of a
 * stack's border. False when reported. */
bool prepare_check(Graph *g);

/* Drops forward nodes whose results nobody reads, with a lint for the last one of each chain. */
void prepare_drop_dead(Graph *g);

/* A value that its reader overwrites must be made in that reader's region: one that comes from
 * elsewhere is copied first. Only losses overwrite what they read. */
void prepare_overwritten(Graph *g);

#endif
