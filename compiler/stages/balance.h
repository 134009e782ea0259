/* balance.h -- where a chain of units is cut into groups that take about the same time.
 *
 * Units are what stands before the layers (embedding), the layers, and what stands behind (head).
 * Groups are contiguous: group g is model chunk g of pipeline.h. Boundaries are groups + 1 units:
 * group g has units [at[g], at[g + 1]). */
#ifndef LOCKSTEP_BALANCE_H
#define LOCKSTEP_BALANCE_H

#include "compiler/base/base.h"

typedef struct BalanceChain {
  const double *costs; /* per unit, any unit of cost, none negative */
  const bool *is_layer;
  int32_t unit_count;
} BalanceChain;

/* The cut whose most expensive group is cheapest; among these the one with the least sum of
 * squares, then with the fewest units in early groups, which keep most activations. Every group
 * has a layer when there are enough of them. NULL: fewer units than groups. */
int32_t *balance_cut(Arena *arena, const BalanceChain *chain, int32_t groups);

/* Moves boundaries, one unit at a time as long as that helps, so that what one stage has in all is
 * even: `stage` of each group says whose it is. First the most expensive stage gets cheaper, then
 * the sum of squares of stages, then that of groups. */
void balance_stages(Arena *arena, const BalanceChain *chain, const int32_t *stage, int32_t groups,
                    int32_t *boundaries);

/* The cut that a list of layers per group says: what stands before a layer goes to the first
 * group, what stands behind one to the layer's group. NULL, and a line in *why, when the list does
 * not fit the chain. */
int32_t *balance_listed(Arena *arena, const BalanceChain *chain, const int32_t *layers,
                        int32_t layers_count, int32_t groups, const char **why);

/* How far the most expensive group lies above the mean: 0.08 = 8 %. */
double balance_excess(const BalanceChain *chain, const int32_t *boundaries, int32_t groups);

#endif
