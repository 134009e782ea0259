/* grad.h -- reverse-mode differentiation of a graph, region by region.
 *
 * In:  a forward graph (training).  Out: region->backward lists, param->grad values, d_input /
 * d_output. Ops' backward rules append the nodes (graph/ops/gradient.h). */
#ifndef LOCKSTEP_GRAD_H
#define LOCKSTEP_GRAD_H

#include "compiler/graph/ops/gradient.h"

/* Joins activations with the products that alone read them (op `gate`). Before grad_derive, and in
 * graphs that only evaluate. */
void grad_join_gates(Graph *g);

/* Derives all regions. False when reported. */
bool grad_derive(Graph *g);

#endif
