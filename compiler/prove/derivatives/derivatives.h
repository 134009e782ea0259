/* derivatives.h -- the backward nodes of a plan's model are the derivatives of its forward nodes.
 *
 * Forward nodes say what the gradient of everything is: the sum, over all uses, of what the rows of
 * derivatives.def say, from the loss on. Backward nodes must make exactly that of every parameter,
 * and of what goes from region to region. It is judged once, on the model before anything was cut;
 * what has no row is refused by name. */
#ifndef LOCKSTEP_PROVE_DERIVATIVES_H
#define LOCKSTEP_PROVE_DERIVATIVES_H

#include "compiler/prove/prove.h"

void prove_derivatives(const Plan *plan, ProveReport *report);

/* What is evaluated is what is trained, without dropout. */
void prove_evaluation(const Plan *plan, ProveReport *report);

#endif
