/* balance.h -- cuts a chain of units into groups that take about the same time.
 *
 * Units are the part before the layers (embedding), each layer, and the part after the layers
 * (head). Groups are contiguous: group g is model chunk g of pipeline.h. Boundaries are groups + 1
 * units: group g has units [at[g], at[g + 1]). */
#ifndef LOCKSTEP_BALANCE_H
#define LOCKSTEP_BALANCE_H

#include "compiler/base/base.h"

typedef struct BalanceChain {
  const double *costs; /* per unit, any unit of cost, none negative */
  const bool *is_layer;
  int32_t unit_count;
} BalanceChain;

/* The cut whose most expensive group is cheapest; among those the one with the least sum of
 * squares, then the one with the fewest units in early groups, which keep the most activations.
 * Every group has a layer if there are enough. NULL: there are fewer units than groups. */
int32_t *balance_cut(Arena *arena, const BalanceChain *chain, int32_t groups);

/* Moves boundaries, one unit at a time as long as that helps, until stages have even totals;
 * `stage` is the stage of each group. The most expensive stage comes first, then the sum of squares
 * over stages, then over groups. */
void balance_stages(Arena *arena, const BalanceChain *chain, const int32_t *stage, int32_t groups,
                    int32_t *boundaries);

/* The cut given by a list of layers per group: units before the first layer go to the first group,
 * units after a layer to that layer's group. NULL, and a line in *why, when the list does not fit
 * the chain. */
int32_t *balance_listed(Arena *arena, const BalanceChain *chain, const int32_t *layers,
                        int32_t layers_count, int32_t groups, const char **why);

/* How far the most expensive group is above the mean: 0.08 = 8 %. */
double balance_excess(const BalanceChain *chain, const int32_t *boundaries, int32_t groups);

#endif
